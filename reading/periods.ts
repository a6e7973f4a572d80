/** Period keys as every reader uses them: docs/spec/keys.md, "Period keys". */
import type { DeviceKeyHandle } from '../core/keys/device-key.ts';
import { type NamedKey, unwrapKey, type WrappedKey } from '../core/keys/wrapped-key.ts';
import type { SetKey } from '../core/object/document-reader.ts';

/** When something is good, in seconds since 1970, inclusive. */
type Validity = Pick<SetKey, 'notAfter' | 'notBefore'>;

/** Set keys in the envelope of a period, by their ids, still wrapped. */
export type Envelope = ReadonlyMap<string, WrappedKey>;

/** The key of a set out of an envelope. It is good while both are. @throws as `unwrapKey` */
export async function openInPeriod(
  period: Validity,
  key: NamedKey | Pick<DeviceKeyHandle, 'id' | 'openWrapped'>,
  wrapped: WrappedKey,
  now: number,
): Promise<SetKey> {
  return {
    key: await unwrapKey(key, wrapped, now),
    notBefore: Math.max(wrapped.notBefore, period.notBefore),
    notAfter: Math.min(wrapped.notAfter, period.notAfter),
  };
}

/**
 * When the next period's key is asked for: between a sixth and a twelfth of a key's time before its end. The next one is given out a quarter
 * of a period ahead, which is a fifth of that time.
 *
 * @param fraction - from 0 to 1, of each device its own
 */
export function renewalOf({ notBefore, notAfter }: Validity, fraction: number): number {
  return notAfter - ((notAfter - notBefore) * (2 - fraction)) / 12;
}

/** Whether one of about the same length follows: days, weeks and months are told apart, and plans need not be. */
export function hasSuccessor({ notBefore, notAfter }: Validity, held: Iterable<Validity>): boolean {
  return [...held].some((other) => {
    const ratio = (other.notAfter - other.notBefore) / (notAfter - notBefore);
    const follows = other.notBefore > notBefore && other.notBefore <= notAfter && other.notAfter > notAfter;
    return follows && ratio > 2 / 3 && ratio < 3 / 2;
  });
}
