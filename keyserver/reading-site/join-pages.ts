/** Joining with an invitation: `/-/join`, and what its script asks. */
import type { Express, Request, Response } from 'express';
import { normaliseCode } from '../../core/keys/binding.ts';
import { ACCOUNT_PAGE, JOIN_PAGE, KEYS_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { JOIN } from '../../words/en/join.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { keepLength } from '../http/compressed.ts';
import { field, optionalField, queryOf } from '../http/forms.ts';
import { addressOf, limitFailures } from '../http/limits.ts';
import { findInvitation } from '../readers/invitations.ts';
import { joinWithCode, joinWithPassword } from '../sign-in/accounts.ts';
import { isAcceptablePassword, MINIMUM_PASSWORD_LENGTH } from '../sign-in/passwords.ts';
import { demandSeat } from '../subscriptions/seats.ts';
import { plansOf } from '../subscriptions/subscriptions.ts';
import { type AccountPages, beginSession, form, leadTo, subscriberOf } from './account-session.ts';
import { refuseTooMany, sendPage } from './own-pages.ts';
import { sameOriginOnly } from './session-cookie.ts';
import { stateOf } from './words.ts';

/** Adds the routes. */
export function addJoinPages(app: Express, pages: AccountPages): void {
  const joins = { kind: 'joins', limit: pages.limits.joinsPerAddress, countedBy: 'address' } as const;
  const taken = [noStore, sameOriginOnly(pages.origin), limitFailures(pages.state, joins, refuseTooMany), form];
  app.get(JOIN_PAGE, noStore, (request, response) =>
    sendJoin(pages, request, response, 200, { code: '', to: queryOf(request, 'to') }),
  );
  app.post(JOIN_PAGE, ...taken, (request, response) => acceptJoin(pages, request, response));
  app.post('/-/invitation', ...taken, (request, response) => nameInvited(pages, request, response));
}

async function sendJoin(
  pages: AccountPages,
  request: Request,
  response: Response,
  status: number,
  page: { readonly code: string; readonly to: string; readonly problem?: CodeProblem['problem'] | 'password' },
): Promise<void> {
  const { documents } = pages;
  const to = page.to === '' ? '' : afterJoining(page.to, documents);
  const present = (await subscriberOf(pages, request))?.name;
  const mailed = queryOf(request, 'mail') === '1';
  const reader = queryOf(request, 'reader') === '1';
  const rest = { to, present, mailed, reader, documents, minimumLength: MINIMUM_PASSWORD_LENGTH };
  if (present !== undefined) keepLength(response); // the address says what "to" is
  await sendPage(pages, response.status(status), 'join', { ...page, ...rest });
}

/** A document, or on to its keys: what is wanted then stands behind "#", which browsers keep. */
function afterJoining(to: string, origin: string): string {
  return to === KEYS_PAGE ? to : documentTarget(to, origin);
}

/** Accepts a form; without its field for a password, the invitation alone signs in. */
async function acceptJoin(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [code, to, password] = [field(request, 'code'), field(request, 'to'), optionalField(request, 'password')];
  if (password !== undefined && !isAcceptablePassword(password))
    return sendJoin(pages, request, response, 400, { code, to, problem: 'password' });
  const present = (await subscriberOf(pages, request))?.id;
  const joined = await withCode(code, (normal) =>
    password === undefined
      ? joinWithCode(pages.state, normal, present)
      : joinWithPassword(pages.state, normal, { password, address: addressOf(request) }),
  );
  if ('problem' in joined) {
    const { problem } = joined;
    return sendJoin(pages, request, response, problem === 'seats' ? 409 : 403, { code, to, problem });
  }
  await beginSession(pages, request, response, joined);
  const next = to === '' ? '/' : afterJoining(to, pages.origin);
  if (next === KEYS_PAGE || (to === '' && password !== undefined))
    return response.redirect(303, next === KEYS_PAGE ? next : ACCOUNT_PAGE);
  // The page's own address decides: the invitation may not open it.
  if (next !== '/') return response.redirect(303, next);
  await leadTo(pages, response, joined.token, next);
}

/** The code in what a person typed or pasted, which may be the whole link. */
function codeIn(text: string): string | undefined {
  const [code = ''] = text.replace(/^.*#/, '').split('.');
  return normaliseCode(code);
}

/** Names the owner of an invitation, for its page: the code is not used up, and no seat taken. */
async function nameInvited(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const { state } = pages;
  const present = (await subscriberOf(pages, request))?.id;
  const found = await withCode(field(request, 'code'), async (code) => {
    const { subscriber, name, seats } = await findInvitation(state, code, '');
    if (seats !== null) await demandSeat(state, subscriber, present);
    const plans = await plansOf(state.database, subscriber);
    const includes = [
      ...(seats === null ? [] : [JOIN.seat(seats, name)]),
      ...plans.map((plan) => JOIN.plan(plan.title, stateOf(plan, state.now()))),
    ];
    return {
      name,
      ...(seats !== null && { again: true }),
      ...(subscriber === present && { own: true }),
      ...(includes.length > 0 && { includes: includes.join(' ') }),
    };
  });
  if ('name' in found) response.json(found);
  else if (found.problem === 'seats') response.status(409).json({ error: 'seats-taken' });
  else response.status(403).json({ error: 'code-refused' });
}

interface CodeProblem {
  readonly problem: 'code' | 'seats';
}

/** Does something with the code in what a person typed; says where the code is not good, or its group has no free seat. */
async function withCode<Found>(text: string, use: (code: string) => Promise<Found>): Promise<Found | CodeProblem> {
  const code = codeIn(text);
  if (code === undefined) return { problem: 'code' };
  try {
    return await use(code);
  } catch (error) {
    if (!(error instanceof KeyServerError)) throw error;
    if (error.code === 'code-refused') return { problem: 'code' };
    if (error.code === 'seats-taken') return { problem: 'seats' };
    throw error;
  }
}
