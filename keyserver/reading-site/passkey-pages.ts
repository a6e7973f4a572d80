/** Passkeys of readers: adding and removing them at the account, and signing in by one. */
import type { Express, Request, Response } from 'express';
import { localTarget } from '../../reading/local-target.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { sendFile } from '../http/compressed.ts';
import { field, formOf } from '../http/forms.ts';
import { createSession, type NewSession } from '../sign-in/accounts.ts';
import {
  ANSWER_FORM_LENGTH,
  addNewPasskey,
  authenticationOptions,
  ownerOfPasskey,
  type Passkeys,
  registrationOptions,
} from '../sign-in/passkey-ceremonies.ts';
import { PASSKEY_SCRIPT, removePasskey } from '../sign-in/passkeys.ts';
import { asReader, audit } from '../storage/audit.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { provenOnly, sendSignIn, tellAdded } from './account-pages.ts';
import { type AccountPages, beginSession, subscriberOf } from './account-session.ts';
import { documentLimit } from './own-pages.ts';
import { sameOriginOnly } from './session-cookie.ts';

const form = formOf(ANSWER_FORM_LENGTH, 10);

/** Adds the routes below `/-/passkey/` to the reading site. */
export function addPasskeyPages(app: Express, pages: AccountPages): void {
  const { origin, limits } = pages;
  const asked = [noStore, sameOriginOnly(origin), documentLimit(limits)];
  app.get('/-/passkeys.js', (request, response) => sendFile(request, response, 'text/javascript', PASSKEY_SCRIPT));
  app.post('/-/passkey/options', ...asked, async (_request, response) => {
    response.json(await authenticationOptions(passkeysOf(pages)));
  });
  app.post('/-/passkey/new', ...asked, provenOnly(pages), (request, response) => sendNew(pages, request, response));
  app.post('/-/passkey/sign-in', ...asked, form, (request, response) => acceptSignIn(pages, request, response));
  // The challenge was given to a session that was proven.
  app.post('/-/passkey/add', ...asked, form, (request, response) => acceptNew(pages, request, response));
  app.post('/-/passkey/remove', ...asked, form, provenOnly(pages), async (request, response) => {
    const subscriber = await subscriberOf(pages, request);
    if (subscriber) await removeOwn(pages, subscriber, field(request, 'passkey'));
    response.redirect(303, '/-/account');
  });
}

function passkeysOf({ state, origin }: AccountPages): Passkeys {
  return { state, origin, table: 'reader_passkeys', userVerification: 'preferred' };
}

async function sendNew(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  if (!subscriber) return void response.status(401).json({ error: 'not-signed-in' });
  const { publisher } = await pages.masthead();
  response.json(await registrationOptions(passkeysOf(pages), subscriber, publisher));
}

async function acceptNew(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  if (subscriber) {
    const own = { ...passkeysOf(pages), state: asReader(pages.state, subscriber.name) };
    await addNewPasskey(own, subscriber, field(request, 'answer'), field(request, 'label'));
    await tellAdded(pages, subscriber, 'passkey');
  }
  response.redirect(303, '/-/account');
}

async function removeOwn({ state }: AccountPages, { id, name }: Subscriber, passkey: string): Promise<void> {
  await state.database.transaction(async () => {
    if (await removePasskey(state.database, 'reader_passkeys', id, passkey))
      await audit(asReader(state, name), 'passkey-removed', name);
  });
}

async function acceptSignIn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const to = localTarget(field(request, 'to'), pages.origin);
  try {
    await beginSession(pages, request, response, await signIn(pages, field(request, 'answer')));
    response.redirect(303, to);
  } catch (error) {
    if (!(error instanceof KeyServerError && error.code === 'passkey-refused')) throw error;
    await sendSignIn(pages, response.status(403), { to, refused: error.code });
  }
}

/** @throws KeyServerError `passkey-refused`, also where the subscriber was revoked or is no more */
async function signIn(pages: AccountPages, answer: string): Promise<NewSession> {
  const { state } = pages;
  const owner = await ownerOfPasskey(passkeysOf(pages), answer);
  return state.database.transaction(async () => {
    const sql = 'SELECT id FROM subscribers WHERE id = ? AND revoked IS NULL';
    if (await state.database.first(sql, owner)) return createSession(state, owner);
    throw new KeyServerError('passkey-refused', 'the subscriber was revoked');
  });
}
