/** What stands on the account page, in words. */
import type { OfferedPlan } from '../../core/publication/offers.ts';
import { PLAN } from '../../words/en/till.ts';
import type { ListedDevice } from '../readers/devices.ts';
import type { ListedPasskey } from '../sign-in/passkeys.ts';
import type { Renewal } from '../subscriptions/kept-elsewhere.ts';
import type { HeldPlan } from '../subscriptions/subscriptions.ts';

/** What a device is and when it was last used, in words. */
export function wordsOf({ id, kind, created, lastSeen }: ListedDevice, thisDevice: number | undefined) {
  const other = kind === 'browser' ? 'A browser' : 'A Reader';
  return {
    title: id === thisDevice ? 'This browser' : other,
    used: lastSeen === null ? `connected on ${dayInUtc(created)}` : `last used on ${dayInUtc(lastSeen)}`,
  };
}

/** When a passkey was made and last used, in words. */
export function useOf({ created, lastUsed }: ListedPasskey): string {
  const added = `added on ${dayInUtc(created)}`;
  return lastUsed === null ? added : `${added}, last used on ${dayInUtc(lastUsed)}`;
}

/** A plan that stands, for its card: when it is paid again, or ends. */
export function planCard(plan: HeldPlan, renewal: Renewal | undefined, offer: OfferedPlan | undefined, now: number) {
  const { title, zone, until } = plan;
  const paid = renewal?.paid ?? until ?? now;
  const end = renewal?.ends ? PLAN.ends(dayIn(zone, paid)) : PLAN.renews(dayIn(zone, paid));
  const when = renewal ? end : stateOf(plan, now);
  return { title, price: renewal && offer?.price, when, failed: renewal?.failed === true };
}

/** When a grant begins or ends, in words. */
export function stateOf({ from, until, zone }: Pick<HeldPlan, 'from' | 'until' | 'zone'>, now: number): string {
  const day = (time: number) => dayIn(zone, time);
  if (until !== null && until < now) return `ended on ${day(until)}`;
  if (from > now) return `from ${day(from)}`;
  return until === null ? 'no end date' : `until ${day(until)}`;
}

/** A day of a plan's time zone, or of UTC. */
function dayIn(zone: string | null, time: number): string {
  if (zone === null) return dayInUtc(time);
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: zone }).format(time * 1000);
}

// Made once: to make one takes longer than a page.
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

function dayInUtc(time: number): string {
  return DAY.format(time * 1000);
}
