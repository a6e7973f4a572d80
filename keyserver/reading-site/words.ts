/** Rows of the account page, in words. */
import { ACCOUNT as words } from '../../words/en/account.ts';
import type { ListedDevice } from '../readers/devices.ts';
import type { ListedPasskey } from '../sign-in/passkeys.ts';
import type { HeldPlan } from '../subscriptions/subscriptions.ts';

/** What a device is and when it was last used, in words. */
export function wordsOf({ id, kind, created, lastSeen }: ListedDevice, thisDevice: number | undefined) {
  const { browser, reader, here } = words.device;
  return {
    title: id === thisDevice ? here : kind === 'browser' ? browser : reader,
    used: lastSeen === null ? words.connected(created) : words.lastUsed(lastSeen),
  };
}

/** When a passkey was made and last used, in words. */
export function useOf({ created, lastUsed }: ListedPasskey): string {
  const added = words.added(created);
  return lastUsed === null ? added : `${added}, ${words.lastUsed(lastUsed)}`;
}

/** When a grant begins or ends, in words. */
export function stateOf({ from, until, zone }: Pick<HeldPlan, 'from' | 'until' | 'zone'>, now: number): string {
  const place = zone ?? 'UTC';
  if (until !== null && until < now) return words.endedOn(until, place);
  if (from > now) return words.from(from, place);
  return until === null ? words.noEnd : words.until(until, place);
}
