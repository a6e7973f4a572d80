/** What stands on the account page, in words. */
import { GIFT_WORDS } from '../../words/en/gifts.ts';
import type { ListedDevice } from '../readers/devices.ts';
import type { OpenGift } from '../readers/gifts.ts';
import type { ListedPasskey } from '../sign-in/passkeys.ts';
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

/** A gift as the account page shows it. */
export function wordsOfGift({ id, target, openings, expires }: OpenGift) {
  const { state, name } = GIFT_WORDS.account;
  const page = decodeURI(target);
  return { id, target, page, state: state(openings, dayInUtc(expires)), name: name(page) };
}

/** When a grant begins or ends, in words. */
export function stateOf({ from, until, zone }: Pick<HeldPlan, 'from' | 'until' | 'zone'>, now: number): string {
  const day = (time: number) =>
    zone === null
      ? dayInUtc(time)
      : new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: zone }).format(time * 1000);
  if (until !== null && until < now) return `ended on ${day(until)}`;
  if (from > now) return `from ${day(from)}`;
  return until === null ? 'no end date' : `until ${day(until)}`;
}

// Made once: to make one takes longer than a page.
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

export function dayInUtc(time: number): string {
  return DAY.format(time * 1000);
}
