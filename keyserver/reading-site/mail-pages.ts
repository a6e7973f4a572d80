/** Signing in and signing up by mail: a name or an address is typed, then the code of the mail. Whether the name is known changes no answer. */
import type { Express, Request, RequestHandler, Response } from 'express';
import { documentTarget, localTarget } from '../../reading/local-target.ts';
import { noStore } from '../http/app.ts';
import { keepLength } from '../http/compressed.ts';
import { field, nameField, queryOf } from '../http/forms.ts';
import { countAsFailure, limitFailures } from '../http/limits.ts';
import { isMailAddress } from '../mail/address.ts';
import type { MailKind } from '../mail/mailer.ts';
import { readProviderRow } from '../publication/provider.ts';
import { invitationLink } from '../readers/invitations.ts';
import { createSession, type NewSession } from '../sign-in/accounts.ts';
import {
  createMailCode,
  createMailLink,
  findMailCode,
  type MailPurpose,
  type OpenMailCode,
  useMailCode,
} from '../sign-in/mail-codes.ts';
import { moveSubscriber, signUp, type Trial } from '../sign-in/own-account.ts';
import { findSubscriber, type Subscriber } from '../subscriptions/subscribers.ts';
import { provenOnly } from './account-pages.ts';
import {
  type AccountPages,
  beginSession,
  headlineFor,
  mailHead,
  ownForm,
  type ReadingMail,
  subscriberOf,
  trialOf,
  wantedBy,
} from './account-session.ts';
import { refuseTooMany, sendPage } from './own-pages.ts';
import { limitMails } from './sign-in-limits.ts';

/** Adds the routes; without `mail`, there are none. */
export function addMailPages(app: Express, pages: AccountPages): void {
  const { mail, limits, state } = pages;
  if (!mail) return;
  const own = ownForm(pages);
  // Refused before anything is counted, and before it is known whose the name is.
  const demandPlace: RequestHandler = async (_request, _response, next) => {
    await mail.mailer.demandPlace();
    next();
  };
  const mailLimits = [demandPlace, ...limitMails(pages, refuseTooMany)];
  const codes = { kind: 'mailed codes', limit: limits.joinsPerAddress, countedBy: 'address' } as const;
  const askFor =
    (wish: MailPurpose): RequestHandler =>
    (request, response) =>
      askForCode(pages, mail, request, response, wish);
  app.get('/-/mail', noStore, async (request, response) => {
    const way = wayOf(queryOf(request, 'wish'), queryOf(request, 'to'), pages.origin);
    const problem = problemOf(queryOf(request, 'problem'));
    // A step back, or another tab, after the code was used.
    const isOver = problem !== 'over' && !(await findMailCode(pages.state, mail.cookie.read(request)));
    if (isOver && way.wish !== 'move' && (await subscriberOf(pages, request))) return response.redirect(303, way.to);
    return sendCodePage(pages, mail, way, request, response, problem);
  });
  app.post('/-/mail', ...own, ...mailLimits, askFor('sign-in'));
  app.post('/-/mail-code', ...own, limitFailures(state, codes, refuseTooMany), (request, response) =>
    acceptCode(pages, mail, request, response),
  );
  app.post('/-/move', ...own, provenOnly(pages), ...mailLimits, askFor('move'));
  addSignUp(app, pages, [...own, ...mailLimits], askFor('sign-up'));
}

/** Signing up begins the trial of a plan; where no plan has one, there is no such page. */
function addSignUp(app: Express, pages: AccountPages, guards: readonly RequestHandler[], ask: RequestHandler): void {
  const offered: RequestHandler = async (_request, response, next) => {
    response.locals.trial = await trialOf(pages);
    next(response.locals.trial ? undefined : 'route');
  };
  const send = async (response: Response, wanted: string, refused?: string) => {
    const to = localTarget(wanted, pages.origin);
    const { days } = response.locals.trial;
    await sendPage(pages, response, 'sign-up', { to, days, refused, headline: await headlineFor(pages, to) });
  };
  app.get('/-/sign-up', noStore, offered, (request, response) => send(response, queryOf(request, 'to')));
  app.post('/-/sign-up', offered, ...guards, (request, response, next) => {
    if (isMailAddress(nameField(request))) return ask(request, response, next);
    return send(response.status(400), field(request, 'to'), field(request, 'name'));
  });
}

/** Mail to send, and its address; `undefined`: none, which the browser is not told. */
interface Addressee {
  readonly kind: MailKind;
  readonly address: string;
  readonly purpose: MailPurpose;
  readonly subscriber: number | undefined;
}

/** The answer goes out before the mail, and after the same work for every name. */
async function askForCode(
  pages: AccountPages,
  mail: ReadingMail,
  request: Request,
  response: Response,
  wish: MailPurpose,
): Promise<void> {
  const name = nameField(request);
  const present = wish === 'move' ? await subscriberOf(pages, request) : undefined;
  if (wish === 'move' && present?.revoked !== null) return response.redirect(303, '/-/account');
  const target = wish === 'move' ? '/-/account' : localTarget(field(request, 'to'), pages.origin);
  const found = await findSubscriber(pages.state.database, name);
  const addressee = addresseeOf(wish, name, found, present);
  const { purpose, subscriber } = addressee ?? { purpose: wish, subscriber: undefined };
  const { secret, code } = await createMailCode(pages.state, { purpose, name, subscriber, target });
  mail.cookie.add(request, response, secret);
  response.redirect(303, `/-/mail?${new URLSearchParams({ wish, to: target })}`);
  if (!addressee) return;
  const signsIn = purpose === 'sign-in' && subscriber !== undefined;
  const link = signsIn ? await createMailLink(pages.state, secret, subscriber) : undefined;
  if (code === undefined && link === undefined) return;
  const more = link !== undefined && { link: await linkFor(pages, link, target, field(request, 'place')) };
  mail.mailer.sendLater(addressee.address, addressee.kind, { ...(await mailHead(pages)), code, ...more });
}

function addresseeOf(
  wish: MailPurpose,
  name: string,
  found: Subscriber | undefined,
  present: Subscriber | undefined,
): Addressee | undefined {
  if (wish === 'move')
    return found === undefined && present && isMailAddress(name)
      ? { kind: 'move', address: name, purpose: 'move', subscriber: present.id }
      : undefined;
  if (wish === 'sign-up' && !found)
    return { kind: 'sign-up', address: name, purpose: 'sign-up', subscriber: undefined };
  if (!found || found.revoked !== null || !isMailAddress(found.name)) return undefined;
  return { kind: 'sign-in', address: found.name, purpose: 'sign-in', subscriber: found.id };
}

/** Opened elsewhere, it leads to the document: what the way to it has begun is in the browser that asked. @param place - in the document, from "#" on */
async function linkFor(pages: AccountPages, code: string, target: string, place: string): Promise<string> {
  const root = (await readProviderRow(pages.state.database))?.root;
  const to = documentTarget(wantedBy(target, pages) + place, pages.documents);
  return invitationLink({ code }, pages.origin, root, { mail: '1', ...(to !== '/' && { to }) });
}

/** Pages from which a code is asked for, and what asks for it. */
const WAYS: Readonly<Record<MailPurpose, { readonly start: string; readonly action: string }>> = {
  'sign-in': { start: '/-/sign-in', action: '/-/mail' },
  'sign-up': { start: '/-/sign-up', action: '/-/sign-up' },
  move: { start: '/-/account', action: '/-/move' },
};

/** Way by which a code was asked for, as the address and the form of its page say: they know it when the code is over, too. Nothing but links hangs on it. */
interface Way {
  readonly wish: MailPurpose;
  readonly to: string;
}

function wayOf(wish: string, to: string, origin: string): Way {
  return { wish: wish === 'sign-up' || wish === 'move' ? wish : 'sign-in', to: localTarget(to, origin) };
}

/** Problem of the code that was typed last, as the address of its page says. */
type CodeProblem = 'over' | 'wrong';

function problemOf(text: string): CodeProblem | undefined {
  return text === 'over' || text === 'wrong' ? text : undefined;
}

async function sendCodePage(
  pages: AccountPages,
  { cookie }: ReadingMail,
  { wish, to }: Way,
  request: Request,
  response: Response,
  problem: CodeProblem | undefined,
): Promise<void> {
  const asked = await findMailCode(pages.state, cookie.read(request));
  const said = { problem: asked ? problem : 'over', name: asked?.name ?? '', isCertain: wish === 'sign-up' } as const;
  const page = { ...said, ...WAYS[wish], wish, to, headline: await headlineFor(pages, to) };
  keepLength(response); // the address says what "to" is, and the page whose code it is
  await sendPage(pages, response, 'mail-code', page);
}

async function acceptCode(pages: AccountPages, mail: ReadingMail, request: Request, response: Response): Promise<void> {
  const present = await subscriberOf(pages, request);
  const secrets = mail.cookie.read(request);
  const trial = await trialOf(pages);
  const taken = await useMailCode(pages.state, secrets, field(request, 'code'), async (found, secret) => {
    const used = await useCode(pages, trial, found, present);
    return used === 'over' ? used : { ...used, secret };
  });
  if (taken === 'wrong' || taken === 'over') {
    const way = wayOf(field(request, 'wish'), field(request, 'to'), pages.origin);
    countAsFailure(response);
    return response.redirect(303, `/-/mail?${new URLSearchParams({ ...way, problem: taken })}`);
  }
  mail.cookie.remove(request, response, taken.secret);
  if (taken.session) await beginSession(pages, request, response, taken.session);
  response.redirect(303, taken.target);
  if (taken.moved === undefined) return;
  mail.mailer.sendLater(taken.moved, 'moved', await mailHead(pages));
}

interface Taken {
  readonly target: string;
  readonly session?: NewSession;
  readonly moved?: string;
}

async function useCode(
  { state }: AccountPages,
  trial: Trial | undefined,
  { purpose, subscriber, name, target }: OpenMailCode,
  present: Subscriber | undefined,
): Promise<Taken | 'over'> {
  if (purpose === 'move') {
    if (present === undefined || present.id !== subscriber) return 'over';
    if (!(await moveSubscriber(state, present, name))) return 'over';
    return { target, ...(isMailAddress(present.name) && { moved: present.name }) };
  }
  const id = purpose === 'sign-up' && trial ? await signUp(state, name, trial) : subscriber;
  return id === null ? 'over' : { target, session: await createSession(state, id) };
}
