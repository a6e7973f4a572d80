/** The bar under a teaser: what the site offers to people who may not read the page, out of signed settings, and the ways on. */
import type { OfferedPlan } from '../core/publication/offers.ts';
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

/** Offer of a site to a stranger in words, and the button that begins it. */
export interface Offer extends Pick<Bar, 'language' | 'lead' | 'title'> {
  /** `trial`: free for some days, begun with a mail address. `none`: the settings name no plan. */
  readonly kind: 'trial' | 'plan' | 'none';
  readonly button: string;
}

/**
 * The offer of these plans: the first with a trial, else the first.
 *
 * @param plans - in the order of showing
 * @param language - of the page, BCP 47
 * @param host - of the reading site
 * @param mayTry - whether a trial can be begun where this is shown
 */
export function offerOf(plans: readonly OfferedPlan[], language: string, host: string, mayTry = true): Offer {
  const words = wordsFor(language, host);
  const tried = mayTry ? plans.find(({ trial }) => trial !== undefined) : undefined;
  if (tried?.trial !== undefined) {
    const lead = tried.price === undefined ? '' : words.after(tried.price);
    return { kind: 'trial', title: words.free(tried.trial), lead, button: words.start, language: words.language };
  }
  const [first] = plans;
  const title = words.subscription;
  if (first === undefined)
    return { kind: 'none', title, lead: words.note, button: words.read, language: words.language };
  const lead = [first.title, first.price].filter(Boolean).join(' · ');
  return { kind: 'plan', title, lead, button: words.subscribe, language: words.language };
}

export type BarSettings = Pick<FallbackSettings, 'plans' | 'serverless' | 'subscribe'>;

/**
 * The bar of a page. On content hosts and at the documents' origin it has links only, all of them to the reading site.
 *
 * @param account - for the account's origin: `signUp` says whether people sign up there by mail
 */
export function barOf(
  { language, reading }: Pick<FallbackPage, 'language' | 'reading'>,
  { plans = [], serverless = false, subscribe = '' }: BarSettings,
  account?: { readonly signUp: boolean },
): Bar {
  const { host, pathname, search } = new URL(reading);
  const { kind, button, ...words } = offerOf(plans, language, host, account?.signUp ?? true);
  const { all, address, signIn, subscribe: subscribing } = wordsFor(language, host);
  const toSignIn = { text: signIn, url: pageFor(reading, 'sign-in') };
  const offers = offersFor(reading, { plans, subscribe });
  if (kind === 'plan') return { ...words, button: { text: button, url: offers }, links: [toSignIn] };
  const further = offers === '' ? [] : [{ text: kind === 'none' ? subscribing : all, url: offers }];
  if (kind === 'none') {
    const isHere = account !== undefined && !serverless;
    return { ...words, button: isHere ? toSignIn : { text: button, url: reading }, links: further };
  }
  const links = [toSignIn, ...further];
  if (account === undefined) return { ...words, button: { text: button, url: reading }, links };
  return { ...words, field: { action: '/-/sign-up', to: pathname + search, label: address, button }, links };
}

/** Finds the page of a site's plans; empty where there are none. @param reading - address of the page at the reading site */
export function offersFor(reading: string, { plans = [], subscribe = '' }: Omit<BarSettings, 'serverless'>): string {
  const hasTill = plans.some(({ buy, trial }) => buy !== undefined || trial !== undefined);
  return plans.length > 0 && (hasTill || subscribe === '') ? pageFor(reading, 'subscribe') : subscribe;
}

function pageFor(reading: string, name: string): string {
  const { origin, pathname, search } = new URL(reading);
  return `${origin}/-/${name}?to=${encodeURIComponent(pathname + search).replaceAll('%2F', '/')}`;
}
