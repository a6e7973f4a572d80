/** Pages on which subscribers manage their accounts: password, sessions, the Reader, their data. */
import type { Express, Request, RequestHandler, Response } from 'express';
import { noStore } from '../http/app.ts';
import { field } from '../http/forms.ts';
import { addressOf } from '../http/limits.ts';
import { readProviderRow } from '../publication/provider.ts';
import { createOwnCode, invitationLink } from '../readers/invitations.ts';
import { replacePassword } from '../sign-in/accounts.ts';
import { MAIL_CODE_LIFETIME } from '../sign-in/mail-codes.ts';
import {
  deleteSubscriber,
  endSessions,
  exportSubscriber,
  removeCredentials,
  removePassword,
} from '../sign-in/own-account.ts';
import { isAcceptablePassword } from '../sign-in/passwords.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { provenOnly, tellAdded } from './account-pages.ts';
import { type AccountPages, leave, ownForm, subscriberOf } from './account-session.ts';
import { sendPage } from './own-pages.ts';
import { rememberBrowser } from './sign-in-limits.ts';

type Work = (request: Request, response: Response, subscriber: Subscriber) => Promise<void>;
type WorkOf = (pages: AccountPages) => Work;

/** Adds the routes. Without a session, all lead to the account page, which lets sign in. */
export function addOwnAccountPages(app: Express, pages: AccountPages): void {
  const { state } = pages;
  const signedIn =
    (work: Work): RequestHandler =>
    async (request, response) => {
      const subscriber = await subscriberOf(pages, request);
      if (subscriber) await work(request, response, subscriber);
      else response.redirect(303, '/-/account');
    };
  const proven = provenOnly(pages);
  const post = (path: string, work: Work) => app.post(path, ...ownForm(pages), proven, signedIn(work));
  const everywhere = signedIn(async (request, response, subscriber) => {
    await endSessions(state, subscriber);
    if (field(request, 'credentials') !== '') await removeCredentials(state, subscriber);
    await leave(pages, response);
  });
  app.post(
    '/-/sign-out-everywhere',
    ...ownForm(pages),
    (request, response, next) => (field(request, 'credentials') === '' ? next() : proven(request, response, next)),
    everywhere,
  );
  post('/-/password', acceptPassword(pages));
  post('/-/connect-reader', connectReader(pages));
  post('/-/my-data', async (_request, response, { id }) => {
    response.attachment('my-data.json').type('json');
    response.send(`${JSON.stringify(await exportSubscriber(state, id), undefined, 2)}\n`);
  });
  app.get(
    '/-/delete',
    noStore,
    proven,
    signedIn((_request, response, { name }) => sendPage(pages, response, 'delete', { name })),
  );
  post('/-/delete', async (_request, response, subscriber) => {
    // A new account could have rights again: the publisher deletes this one.
    if (subscriber.revoked !== null) return response.redirect(303, '/-/account');
    await deleteSubscriber(state, subscriber);
    await leave(pages, response, true);
  });
}

/** Sets or, with `remove`, removes the password. Other sessions end. */
const acceptPassword: WorkOf = (pages) => async (request, response, subscriber) => {
  const { state, cookie } = pages;
  const token = cookie.read(request) ?? '';
  const [password, remove] = [field(request, 'password'), field(request, 'remove') !== ''];
  if (!remove && !isAcceptablePassword(password)) return response.redirect(303, '/-/account?problem=password');
  if (remove) await removePassword(state, subscriber);
  else if (!(await replacePassword(state, token, { password, address: addressOf(request) })))
    return response.redirect(303, '/-/account');
  await endSessions(state, subscriber, token);
  if (!remove) await tellAdded(pages, subscriber, 'password');
  await rememberBrowser(pages, response, subscriber);
  response.redirect(303, '/-/account');
};

/** Makes a code: for the script of the account page, or for the page of invitations (docs/keyserver.md, "Invitations"), which offers it as a link. */
const connectReader: WorkOf = (pages) => async (request, response, subscriber) => {
  const { state, origin } = pages;
  const { id, revoked } = subscriber;
  if (revoked !== null) return response.redirect(303, '/-/account');
  const code = await createOwnCode(state.database, id, state.now() + MAIL_CODE_LIFETIME);
  const root = (await readProviderRow(state.database))?.root;
  await tellAdded(pages, subscriber, 'reader');
  if (field(request, 'as') === 'json') response.json({ link: invitationLink({ code }, origin, root) });
  else response.redirect(303, invitationLink({ code }, origin, root, { reader: '1' }));
};
