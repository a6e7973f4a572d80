/** The bar under a teaser: what the site offers to people who may not read the page, out of signed settings, and the ways on. */
import { isSoldHere, planToTry } from '../core/publication/offers.ts';
import { SUBSCRIBE_PAGE } from '../core/site/path.ts';
import type { FallbackPage, FallbackSettings } from './fallback-page.ts';
import { wordsFor } from './words.ts';

export interface BarLink {
  readonly text: string;
  readonly url: string;
}

/** Field for a mail address, sent as `name`; with it goes `to`, the path of the document. */
export interface BarField {
  readonly action: string;
  readonly to: string;
  readonly label: string;
  readonly button: string;
}

/** Texts without markup. A bar has a field or a button, which is the one that is filled. */
export interface Bar {
  /** Language of its words, where the page's is another; else empty. They are written from left to right then. */
  readonly language: string;
  readonly title: string;
  /** May be empty. */
  readonly lead: string;
  readonly field?: BarField;
  readonly button?: BarLink;
  readonly links: readonly BarLink[];
}

export type BarSettings = Pick<FallbackSettings, 'plans' | 'serverless' | 'subscribe'>;

/**
 * The bar of a page, which offers the first plan with a trial, else the first. On content hosts and at the documents' origin it has links only, all of
 * them to the reading site.
 *
 * @param account - for the account's origin: `signUp` says whether people begin the trial there by mail
 */
export function barOf(
  { language, reading }: Pick<FallbackPage, 'language' | 'reading'>,
  { plans = [], serverless = false, subscribe = '' }: BarSettings,
  account?: { readonly signUp: boolean },
): Bar {
  const { host, pathname, search } = new URL(reading);
  const words = wordsFor(language, host);
  const signIn = { text: words.signIn, url: pageFor(reading, '/-/sign-in') };
  const offers = offersFor(reading, { plans, subscribe });
  const toOffers = (text: string) => (offers === '' ? [] : [{ text, url: offers }]);
  const tried = account?.signUp === false ? undefined : planToTry(plans);
  if (tried) {
    const lead = tried.price === undefined ? '' : words.after(tried.price);
    const links = [signIn, ...toOffers(words.all)];
    const bar = { language: words.language, title: words.free(tried.trial), lead, links };
    if (account === undefined) return { ...bar, button: { text: words.start, url: reading } };
    const to = pathname + search;
    return { ...bar, field: { action: '/-/sign-up', to, label: words.address, button: words.start } };
  }
  const bar = { language: words.language, title: words.subscription };
  const [first] = plans;
  if (first !== undefined) {
    const lead = [first.title, first.price].filter(Boolean).join(' · ');
    return { ...bar, lead, button: { text: words.subscribe, url: offers }, links: [signIn] };
  }
  const read = { text: words.read, url: reading };
  if (serverless) return { ...bar, title: words.invitation, lead: '', button: read, links: toOffers(words.subscribe) };
  const button = account ? signIn : read;
  return { ...bar, lead: words.note, button, links: toOffers(words.subscribe) };
}

/** Finds the page of a site's plans; empty where there are none. @param reading - address of the page at the reading site */
export function offersFor(reading: string, { plans = [], subscribe = '' }: Omit<BarSettings, 'serverless'>): string {
  const isHere = isSoldHere(plans) || (plans.length > 0 && subscribe === '');
  return isHere ? pageFor(reading, SUBSCRIBE_PAGE) : subscribe;
}

function pageFor(reading: string, page: string): string {
  const { origin, pathname, search } = new URL(reading);
  return `${origin}${page}?to=${encodeURIComponent(pathname + search).replaceAll('%2F', '/')}`;
}
