/** Offers of a site to people who may not read it, a part of the site settings: docs/spec/publication.md, "Site settings". */
import { hasMembers, isJsonObject, type Json } from '../encoding/canonical-json.ts';
import { PLAN_NAME } from '../keys/set-pattern.ts';
import { isLoopback } from '../site/site.ts';

/** A plan as strangers see it. One without `trial` and `buy` is shown, and cannot be begun here. */
export interface OfferedPlan {
  /** Name of the plan at the key server. */
  readonly name: string;
  readonly title: string;
  /** Summary, in one line. */
  readonly about?: string;
  /** Text that readers see: `€6 a month`. */
  readonly price?: string;
  /** Days that are free, once for each mail address. */
  readonly trial?: number;
  /** Page at which it is paid for: an `https:` URL. */
  readonly buy?: string;
}

/** Limits of what one reader may give away. */
export interface Gifts {
  /** Days for which a link works. */
  readonly days: number;
  /** Times that one link opens its page. */
  readonly openings: number;
  /** Links in a month. */
  readonly perMonth: number;
}

export const OFFER_LIMITS = {
  plans: 16,
  title: 100,
  about: 200,
  price: 40,
  trial: 366,
  days: 90,
  openings: 1000,
} as const;
const MAXIMUM_ADDRESS = 2048;
/** Hosts with nothing in them that could mean something else in a policy or a mail. */
const WITH_PLAIN_HOST = /^https:\/\/[\w.:[\]-]+\//;
/** Text without what controls it, or turns its direction. */
const TEXT = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;

/** Tells whether a plan can be begun at the reading site. */
export function isSoldHere(plans: readonly OfferedPlan[]): boolean {
  return plans.some(({ buy, trial }) => buy !== undefined || trial !== undefined);
}

/** Finds the plan whose trial signing up begins: the first that has one. */
export function planToTry(plans: readonly OfferedPlan[]): (OfferedPlan & { readonly trial: number }) | undefined {
  return plans.find((plan): plan is OfferedPlan & { trial: number } => plan.trial !== undefined);
}

/** Tells whether a text can stand in an offer: one line, without space around it. */
export function isOfferText(value: unknown, length: number): value is string {
  return typeof value === 'string' && value.length <= length && TEXT.test(value) && value.trim() === value;
}

/** Tells whether `text` can be an address where people pay: one for {@link isSubscribeUrl}, or on this computer, for trying. */
export function isBuyUrl(text: unknown): text is string {
  if (isSubscribeUrl(text)) return true;
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  return url?.href === text && url?.protocol === 'http:' && isLoopback(url.hostname) && url.username === '';
}

/** Tells whether `text` can be the address where people subscribe: an `https:` URL in its one spelling, without a user. */
export function isSubscribeUrl(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > MAXIMUM_ADDRESS || !WITH_PLAIN_HOST.test(text)) return false;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.href === text && url.username === '' && url.password === '';
}

/** Tells whether a value out of site settings is a list of plans; no two have one name. */
export function areOfferedPlans(value: Json): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > OFFER_LIMITS.plans) return false;
  const names = value.map((each) => (isJsonObject(each) ? each.name : undefined));
  return new Set(names).size === value.length && value.every(isOfferedPlan);
}

function isOfferedPlan(value: Json): boolean {
  if (!isJsonObject(value) || !hasMembers(value, ['name', 'title'], ['about', 'buy', 'price', 'trial'])) return false;
  const { name, title, about, buy, price, trial } = value;
  return (
    typeof name === 'string' &&
    PLAN_NAME.test(name) &&
    isOfferText(title, OFFER_LIMITS.title) &&
    (about === undefined || isOfferText(about, OFFER_LIMITS.about)) &&
    (price === undefined || isOfferText(price, OFFER_LIMITS.price)) &&
    (trial === undefined || isCount(trial, OFFER_LIMITS.trial)) &&
    (buy === undefined || isBuyUrl(buy))
  );
}

/** Tells whether a value out of site settings says how pages may be given away. */
export function areGifts(value: Json): boolean {
  if (!isJsonObject(value) || !hasMembers(value, ['days', 'openings', 'perMonth'])) return false;
  const { days, openings, perMonth } = value;
  return (
    isCount(days, OFFER_LIMITS.days) &&
    isCount(openings, OFFER_LIMITS.openings) &&
    isCount(perMonth, OFFER_LIMITS.openings)
  );
}

function isCount(value: Json | undefined, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}
