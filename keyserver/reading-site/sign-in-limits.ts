/** The limits on signing in, and the browsers that are known: docs/keyserver.md, "Limits". */
import type { Request, RequestHandler, Response } from 'express';
import { nameField } from '../http/forms.ts';
import { type CountedBy, countAsKnownBrowser, limitFailures, type RequestLimits } from '../http/limits.ts';
import { findKnownBrowser, markKnownBrowser } from '../sign-in/known-browsers.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import type { ReadingCookie } from './session-cookie.ts';

export interface SignInLimits {
  readonly state: KeyServerState;
  readonly limits: RequestLimits;
  /** Holds the mark of a known browser. Signing out leaves it. */
  readonly knownBrowser: ReadingCookie;
}

/** Guards of an attempt to sign in, behind its form. @param refuse - answers 429 */
export function limitSignIns(pages: SignInLimits, refuse: RequestHandler): RequestHandler[] {
  const { limits } = pages;
  return limitNamed(pages, refuse, { kind: 'sign-ins' }, [
    limits.signInsPerKnownBrowser,
    limits.signInsPerNameAndAddress,
    limits.signInsPerAddress,
    limits.signInsPerName,
  ]);
}

/** Guards of a mail, behind its form: known browsers pass what others can use up. @param refuse - answers 429 */
export function limitMails(pages: SignInLimits, refuse: RequestHandler): RequestHandler[] {
  const { limits } = pages;
  const counted = limitNamed(pages, refuse, { kind: 'mails', all: true }, [
    limits.mailsPerKnownBrowser,
    limits.mailsPerNameAndAddress,
    limits.mailsPerAddress,
    limits.mailsPerName,
  ]);
  const { mailsPerNameAndDay } = limits;
  const daily = [
    // Keeps one address from using up what all of them may do.
    { kind: 'mails a day by address', limit: Math.ceil(mailsPerNameAndDay / 5), countedBy: 'name-and-address' },
    { kind: 'mails a day', limit: mailsPerNameAndDay, countedBy: 'name' },
  ] as const;
  return [
    ...counted,
    ...daily.map((limit) => limitFailures(pages.state, { ...limit, all: true, window: DAY }, refuse)),
  ];
}

export const DAY = 86_400;

/** The narrow ones first, so that one address cannot use up what all of them may do. */
const COUNTED_BY: readonly CountedBy[] = ['known-browser', 'name-and-address', 'address', 'name'];

/** @param limits - for each of {@link COUNTED_BY} */
function limitNamed(
  pages: SignInLimits,
  refuse: RequestHandler,
  { kind, all }: { readonly kind: string; readonly all?: true },
  limits: readonly number[],
): RequestHandler[] {
  const counting = COUNTED_BY.map((countedBy, index) => {
    const limit = { kind: `${kind} by ${countedBy}`, limit: limits[index] ?? 0, countedBy, ...(all && { all }) };
    return limitFailures(pages.state, limit, refuse);
  });
  return [recogniseBrowser(pages), ...counting];
}

/** Has a browser in which a subscriber has signed in pass the limits that outsiders can use up. */
export async function rememberBrowser(pages: SignInLimits, response: Response, { id }: Subscriber): Promise<void> {
  pages.knownBrowser.set(response, await markKnownBrowser(pages.state, id));
}

function recogniseBrowser({ state, knownBrowser }: SignInLimits): RequestHandler {
  return async (request: Request, response, next) => {
    const mark = knownBrowser.read(request);
    const known = mark !== undefined && (await findKnownBrowser(state, nameField(request), mark));
    if (known) countAsKnownBrowser(response, known);
    next();
  };
}
