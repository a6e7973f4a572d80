/** The session of a browser at the reading site: who is signed in, and how that begins and ends. */
import type { Request, Response } from 'express';
import { documentTarget } from '../../reading/local-target.ts';
import type { SignUpConfig } from '../config/mail.ts';
import type { FailureCounts } from '../http/failure-counts.ts';
import { formOf } from '../http/forms.ts';
import { MAXIMUM_FORM_LENGTH } from '../http/limits.ts';
import type { Mailer } from '../mail/mailer.ts';
import { endSession, findSession, type NewSession } from '../sign-in/accounts.ts';
import type { OpenIdSignIn } from '../sign-in/openid-configuration.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import type { OwnPages } from './own-pages.ts';
import { leavingPage } from './pages.ts';
import type { ProgramVersion } from './program.ts';
import type { FlowCookie, ReadingCookie } from './session-cookie.ts';
import { rememberBrowser, type SignInLimits } from './sign-in-limits.ts';

/** The document that signing in leads to in the end. */
export function wantedBy(to: string, { origin, documents }: Pick<AccountPages, 'documents' | 'origin'>): string {
  const { pathname, searchParams } = new URL(to, origin);
  return documentTarget(pathname === '/-/enter' ? (searchParams.get('to') ?? '') : to, documents);
}

/** What the pages need where mail is sent. */
export interface ReadingMail {
  readonly mailer: Mailer;
  /** Holds the secrets of the browser that asked for codes. */
  readonly cookie: FlowCookie;
  readonly signUp: SignUpConfig | undefined;
}

/** What the pages of accounts work with. */
export interface AccountPages extends OwnPages, SignInLimits {
  /** The origin of the documents. */
  readonly documents: string;
  /** The origin of devices. */
  readonly keyServer: string;
  readonly cookie: ReadingCookie;
  /** `undefined`: no mail is sent. */
  readonly mail: ReadingMail | undefined;
  /** Where else people can sign in. */
  readonly openid: Pick<OpenIdSignIn, 'title'> | undefined;
  /** Counts the mails that tell a subscriber of additions. */
  readonly told: FailureCounts;
  /** What opens documents in browsers; `undefined` where they are decrypted here, or while the publication is not known. */
  readonly program: () => Promise<ProgramVersion | undefined>;
}

export const form = formOf(MAXIMUM_FORM_LENGTH, 10);

/** Who is signed in, by the cookie. */
export async function subscriberOf(
  { state, cookie }: Pick<AccountPages, 'cookie' | 'state'>,
  request: Request,
): Promise<Subscriber | undefined> {
  const token = cookie.read(request);
  return token === undefined ? undefined : findSession(state, token);
}

/** Takes the session out of the browser, and answers with a form by which the documents' origin does the same. */
export async function leave(pages: AccountPages, response: Response, data = '"cache"'): Promise<void> {
  pages.cookie.clear(response);
  // The form has to say where it comes from.
  response.set({ 'Clear-Site-Data': data, 'Referrer-Policy': 'strict-origin' });
  response.type('html').send(leavingPage(await pages.masthead(), pages.documents));
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
