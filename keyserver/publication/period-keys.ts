/** Period keys of plans, as the publisher hands them over in its bundle: docs/spec/keys.md, "Period keys". */
import { type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import type { BundledPeriod } from '../../core/keys/bundle.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { KeyServerError } from '../errors.ts';
import type { Database } from '../storage/database.ts';
import type { Remembered } from '../storage/memory.ts';
import type { KeyServerState } from '../storage/state.ts';

/** A period of a plan. Times in seconds since 1970, inclusive. */
export interface Period {
  readonly id: KeyId;
  readonly site: string;
  /** The plan, as the publisher has it: its name, the sorted patterns of its sets as JSON, and the time zone of a dated one. */
  readonly plan: string;
  readonly sets: string;
  readonly zone: string | null;
  readonly starts: number;
  readonly ends: number;
  readonly sealed: Uint8Array;
}

export interface SealedPeriod extends BundledPeriod {
  readonly sealed: Uint8Array;
}

export type OpenPeriod = NamedKey & Period;

/** Kind of what is kept: all of them. */
const PERIODS: { readonly of?: readonly OpenPeriod[] } = {};

/** Encrypts the period keys of a bundle, of which `openBundle` has checked that each is the key of its id. @param version - of the master key */
export function sealPeriods(
  { vault }: KeyServerState,
  periods: readonly BundledPeriod[] | undefined,
  version: number,
): Promise<SealedPeriod[]> {
  return Promise.all(
    (periods ?? []).map(async (period) => {
      const key = fromBase64url(period.key) ?? new Uint8Array(0);
      return { ...period, sealed: await vault.seal(periodRow(period.id), key, version) };
    }),
  );
}

/** Replaces all earlier periods by those of the last bundle. Within the caller's transaction. */
export async function storePeriods(database: Database, periods: readonly SealedPeriod[]): Promise<void> {
  await database.run('DELETE FROM periods');
  const insert =
    'INSERT INTO periods (id, site, plan, sets, zone, starts, ends, sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)';
  for (const { id, site, plan, sets, zone = null, from, until, sealed } of periods)
    await database.run(insert, id, site, plan, JSON.stringify(sets), zone, from, until, sealed);
}

/** The periods that have not ended, the current ones first. @param now - seconds since 1970 */
export function periodsFrom(database: Database, now: number): Promise<Period[]> {
  const sql =
    'SELECT id, site, plan, sets, zone, starts, ends, sealed FROM periods WHERE ends >= ? ORDER BY starts, id';
  return database.all<Period>(sql, now);
}

/** Periods that had not ended when they were read, with their keys: kept until they change. @throws as {@link openPeriod} */
export async function openPeriods(state: KeyServerState, remembered: Remembered): Promise<readonly OpenPeriod[]> {
  const kept = remembered.rows('keys', PERIODS);
  const known = kept.get('');
  if (known) return known;
  const periods = await periodsFrom(state.database, state.now());
  const opened = await Promise.all(
    periods.map(async (period) => ({ ...period, ...(await openPeriod(state, period)) })),
  );
  kept.set('', opened);
  return opened;
}

/** @throws KeyServerError `store-unusable` where the database was tampered with */
async function openPeriod({ vault }: KeyServerState, { id, sealed }: Period): Promise<NamedKey> {
  const key = await vault.open(periodRow(id), sealed);
  if ((await keyIdOf('period', key)) === id) return { id, key };
  throw new KeyServerError('store-unusable', 'a period key in the database is not the key that it is named');
}

/** Names the row of a period key in the database. */
export const periodRow = (id: KeyId) => ({ table: 'periods', row: id, keyId: id });
