/** Rows and cards of the account page, in words. */
import type { OfferedPlan } from '../../core/publication/offers.ts';
import { ACCOUNT as words } from '../../words/en/account.ts';
import { day } from '../../words/en/language.ts';
import { PLAN } from '../../words/en/till.ts';
import type { ListedDevice } from '../readers/devices.ts';
import type { OpenGift } from '../readers/gifts.ts';
import type { ListedPasskey } from '../sign-in/passkeys.ts';
import type { Renewal } from '../subscriptions/kept-elsewhere.ts';
import type { HeldPlan } from '../subscriptions/subscriptions.ts';

/** Says what a device is and when it was last used. */
export function wordsOf(device: ListedDevice, thisDevice: number | undefined, now: number) {
  const { id, kind, label, created, lastSeen } = device;
  const [browser, system] = label?.split('/') ?? [];
  const isPhone = system === 'Android' || system === 'iPhone';
  const used = lastSeen === null ? words.connected(created) : words.seen(lastSeen, now);
  return {
    isPhone,
    title: browser && system ? words.named(browser, system) : words.device[kind],
    used: id !== thisDevice ? used : isPhone ? words.here.phone : words.here.other,
  };
}

/** Says when a passkey was made and last used. */
export function useOf({ created, lastUsed }: ListedPasskey): string {
  const added = words.added(created);
  return lastUsed === null ? added : `${added}, ${words.lastUsed(lastUsed)}`;
}

/** A gift as the account page shows it: by its headline, where that is at hand. */
export function wordsOfGift({ id, target, openings, expires }: OpenGift, headline = decodeURI(target)) {
  return { id, target, page: headline, state: words.gift(openings, expires) };
}

/** A plan that stands, or was the last to end, for its card: when it is paid again, or ends. */
export function planCard(plan: HeldPlan, renewal: Renewal | undefined, offer: OfferedPlan | undefined, now: number) {
  const { title, zone, from, until } = plan;
  const hasEnded = until !== null && until < now;
  const paid = renewal?.paid ?? until ?? now;
  const last = day(paid, zone ?? 'UTC');
  const failed = renewal?.failed === true && !hasEnded;
  const end = failed ? PLAN.due : renewal?.ends ? PLAN.ends(last) : PLAN.renews(last);
  const when = renewal && !hasEnded ? end : stateOf(plan, now);
  // Plans without a zone open earlier sets, too.
  const since = zone === null || hasEnded ? undefined : PLAN.since(day(from, zone));
  return { title, price: renewal && offer?.price, when, since, hasEnded, failed };
}

/** Says when a grant begins or ends. */
export function stateOf({ from, until, zone }: Pick<HeldPlan, 'from' | 'until' | 'zone'>, now: number): string {
  const place = zone ?? 'UTC';
  if (until !== null && until < now) return words.endedOn(until, place);
  if (from > now) return words.from(from, place);
  return until === null ? words.noEnd : words.until(until, place);
}
