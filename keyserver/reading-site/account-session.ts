/** The session of a browser at the reading site: who is signed in, and how that begins and ends. */
import type { Request, RequestHandler, Response } from 'express';
import { type OfferedPlan, planToTry } from '../../core/publication/offers.ts';
import { LEAVE_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import type { MailFields } from '../../words/en/mails.ts';
import { noStore } from '../http/app.ts';
import type { FailureCounts } from '../http/failure-counts.ts';
import { formOf } from '../http/forms.ts';
import { MAXIMUM_FORM_LENGTH } from '../http/limits.ts';
import type { Mailer } from '../mail/mailer.ts';
import { endSession, findSession, type NewSession } from '../sign-in/accounts.ts';
import { createEntryCode } from '../sign-in/document-sessions.ts';
import type { OpenIdSignIn } from '../sign-in/openid-configuration.ts';
import type { Trial } from '../sign-in/own-account.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { type OwnPages, sendPage } from './own-pages.ts';
import type { ProgramVersion } from './program.ts';
import { type FlowCookie, type ReadingCookie, sameOriginOnly } from './session-cookie.ts';
import { rememberBrowser, type SignInLimits } from './sign-in-limits.ts';

/** The document that signing in leads to in the end. */
export function wantedBy(to: string, { origin, documents }: Pick<AccountPages, 'documents' | 'origin'>): string {
  const { pathname, searchParams } = new URL(to, origin);
  return documentTarget(pathname === '/-/enter' ? (searchParams.get('to') ?? '') : to, documents);
}

/** Finds the headline of the page that signing in leads to in the end. */
export async function headlineFor(pages: AccountPages, to: string): Promise<string | undefined> {
  const wanted = wantedBy(to, pages);
  return wanted === '/' ? undefined : pages.headlineOf(wanted);
}

/** Fields of every mail. */
export async function mailHead(pages: AccountPages): Promise<Pick<MailFields, 'accent' | 'publisher' | 'site'>> {
  const { publisher, site, accent } = await pages.masthead();
  return { publisher, site, accent: accent.light };
}

/** Parts that the pages need where mail is sent. */
export interface ReadingMail {
  readonly mailer: Mailer;
  /** Holds the secrets of the browser that asked for codes. */
  readonly cookie: FlowCookie;
}

/** Parts that the pages of accounts work with. */
export interface AccountPages extends OwnPages, SignInLimits {
  readonly documents: string;
  /** Finds the headline of a page, if it is at hand: no page waits for a content host. @param to - path and query */
  readonly headlineOf: (to: string) => Promise<string | undefined>;
  /** Finds those of the plans that open a page. @param to - path and query */
  readonly plansFor: (to: string, plans: readonly OfferedPlan[]) => Promise<readonly OfferedPlan[]>;
  readonly cookie: ReadingCookie;
  /** `undefined`: no mail is sent. */
  readonly mail: ReadingMail | undefined;
  readonly openid: Pick<OpenIdSignIn, 'title'> | undefined;
  /** Page of Stripe at which whoever pays there changes that. */
  readonly portal: string | undefined;
  /** Counts the mails that tell a subscriber of additions. */
  readonly told: FailureCounts;
  /** Finds the program that opens documents in browsers; `undefined` where they are decrypted here, or while the publication is not known. */
  readonly program: () => Promise<ProgramVersion | undefined>;
  /** Tells whether the documents' origin opens documents itself, for readers who are signed in there. */
  readonly opensHere: () => Promise<boolean>;
  /** Answers with the teaser of a document, for whoever may not read it. @param to - path and query @returns whether it did */
  readonly tease: (request: Request, response: Response, to: string) => Promise<boolean>;
}

/** The trial that signing up by mail begins: that of the first plan that has one. */
export async function trialOf({ mail, masthead }: Pick<AccountPages, 'mail' | 'masthead'>): Promise<Trial | undefined> {
  const plan = mail && planToTry((await masthead()).plans);
  return plan && { plan: plan.name, days: plan.trial };
}

export const form = formOf(MAXIMUM_FORM_LENGTH, 10);

/** Stands before what a form of these pages changes. */
export function ownForm({ origin }: Pick<AccountPages, 'origin'>): RequestHandler[] {
  return [noStore, sameOriginOnly(origin), form];
}

/** Finds who is signed in, by the cookie. */
export async function subscriberOf(
  { state, cookie }: Pick<AccountPages, 'cookie' | 'state'>,
  request: Request,
): Promise<Subscriber | undefined> {
  const token = cookie.read(request);
  return token === undefined ? undefined : findSession(state, token);
}

/** Takes the session out of the browser, and answers with a form by which the documents' origin does the same. */
export async function leave(pages: AccountPages, response: Response, isForgotten = false): Promise<void> {
  pages.cookie.clear(response);
  if (isForgotten) pages.knownBrowser.clear(response);
  response.set('Clear-Site-Data', isForgotten ? '"cache", "storage"' : '"cache"');
  await sendForm(pages, response, { action: `${pages.documents}${LEAVE_PAGE}${isForgotten ? '?forgotten=1' : ''}` });
}

/**
 * Leads a window to a document. Where documents are opened for it there, a form takes a code along, which signs in.
 *
 * @param token - of the session here
 * @param to - path and query; browsers keep what stands behind "#"
 */
export async function leadTo(
  pages: AccountPages,
  response: Response,
  token: string | undefined,
  to: string,
): Promise<void> {
  if (await pages.opensHere()) await handOver(pages, response, token, to);
  else response.set('Cache-Control', 'no-store').redirect(303, pages.documents + to);
}

/** Leads a browser that cannot open documents by itself. */
export async function handOver(
  pages: AccountPages,
  response: Response,
  token: string | undefined,
  to: string,
): Promise<void> {
  const action = pages.documents + to;
  const code = token === undefined ? undefined : await createEntryCode(pages.state, token);
  response.set('Cache-Control', 'no-store');
  if (code === undefined) return response.redirect(303, action);
  await sendForm(pages, response, { action, code });
}

interface HandOverPage {
  readonly action: string;
  /** Left out: the form signs out. */
  readonly code?: string;
}

/** A form that its script sends: it has to say where it comes from. */
async function sendForm(pages: AccountPages, response: Response, form: HandOverPage): Promise<void> {
  await sendPage(pages, response.set('Referrer-Policy', 'strict-origin'), 'hand-over', form);
}

/** The token is always new; a session that the browser had ends. From now on the browser is known. */
export async function beginSession(
  pages: AccountPages,
  request: Request,
  response: Response,
  { token, subscriber }: NewSession,
): Promise<void> {
  await endSessionOf(pages, request);
  pages.cookie.set(response, token);
  await rememberBrowser(pages, response, subscriber);
}

export async function endSessionOf({ state, cookie }: AccountPages, request: Request): Promise<void> {
  const token = cookie.read(request);
  if (token !== undefined) await endSession(state, token);
}
