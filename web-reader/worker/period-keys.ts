/** Period keys, and the set keys that they open: docs/spec/keys.md, "Period keys". What published scripts write here opens nothing. */
import { aes256GcmOpen } from '#primitives';
import { type Open, wrappingKey } from '../../core/keys/device-key.ts';
import type { DocumentKey } from '../../core/keys/document-keys.ts';
import { parseEnvelope } from '../../core/keys/envelope.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { hasSuccessor, openInPeriod, renewalOf } from '../../reading/periods.ts';
import { handleOf, macOf, type OriginStore, STATE, type StoredKey } from '../store.ts';

type StoredPeriod = StoredKey & {
  /** Seconds since 1970: when its successor is asked for. */
  readonly renewal: number;
};

/** Keeps the period keys that the vault has given, in place of all others. */
export async function keepPeriods({ state }: OriginStore, given: readonly DocumentKey[]): Promise<void> {
  const keep = async (period: DocumentKey) => ({
    ...(await handleOf(period)),
    renewal: renewalOf(period, Math.random()),
  });
  if (given.length > 0) await state.put(STATE.periods, await Promise.all(given.map(keep)));
}

/** Finds the key of a set in the envelopes of the publication, and keeps it. @returns whether it did */
export async function findInPeriods(
  store: OriginStore,
  publication: SitePublication,
  set: string,
  now: number,
): Promise<boolean> {
  for (const period of await held(store, now)) {
    const { id, key } = period;
    if (publication.envelopeHash(id) === undefined) continue;
    try {
      const wrapped = parseEnvelope(await publication.envelope(id), id).find((each) => each.id === set);
      if (!wrapped) continue;
      const openWrapped: Open = async (nonce, sealed, context) =>
        aes256GcmOpen(await wrappingKey(macOf(key)), nonce, sealed, context);
      const opened = await openInPeriod(period, { id, openWrapped }, wrapped, now);
      await store.keys.put([await handleOf({ ...opened, id: set })]);
      return true;
    } catch {
      // The vault is asked.
    }
  }
  return false;
}

/** The ids of those whose successors are to be asked for now. */
export async function periodsToRenew(store: OriginStore, now: number): Promise<string[]> {
  const periods = await held(store, now);
  return periods.filter((each) => now >= each.renewal && !hasSuccessor(each, periods)).map(({ id }) => id);
}

async function held({ state }: OriginStore, now: number): Promise<StoredPeriod[]> {
  const kept = await state.get(STATE.periods);
  return Array.isArray(kept) ? kept.filter(({ notBefore, notAfter }) => notBefore <= now && now <= notAfter) : [];
}
