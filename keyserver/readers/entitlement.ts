/** Decides whether a subscriber may have the key of a set, and gets it. */
import { type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import { KeyServerError } from '../errors.ts';
import { setRow } from '../publication/import-bundle.ts';
import type { Database } from '../storage/database.ts';
import type { Remembered } from '../storage/memory.ts';
import type { KeyServerState } from '../storage/state.ts';
import { decideAccess } from '../subscriptions/access.ts';
import type { Right } from '../subscriptions/periods.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { rightsOf } from '../subscriptions/subscriptions.ts';

export type Denial = 'not-entitled' | 'lapsed' | 'revoked';

/** The key of a set, or why there is none. */
export type KeyDecision =
  | { readonly denied: Denial }
  | { readonly denied: undefined; readonly key: Uint8Array; readonly notAfter: number };

interface SetRow {
  readonly id: KeyId;
  readonly name: string;
  readonly site: string;
  readonly sealed: Uint8Array;
  key?: Uint8Array;
}

/** Kind of what is kept in memory. */
const SETS: { readonly of?: SetRow } = {};

/**
 * The decision for each of several sets, in their order.
 *
 * @param rights - of {@link standingRights}
 * @param sites - a set of another site is `not-entitled`, even where the subscriber was revoked; left out: all sites
 * @throws KeyServerError `store-unusable` where the database was tampered with
 */
export async function decideKeys(
  state: KeyServerState,
  remembered: Remembered,
  rights: readonly Right[] | undefined,
  setKeyIds: readonly KeyId[],
  sites?: readonly string[],
): Promise<KeyDecision[]> {
  if (sites?.length === 0) return setKeyIds.map(() => ({ denied: 'not-entitled' }));
  const known = remembered.rows('keys', SETS);
  const missing = setKeyIds.filter((id) => !known.has(id));
  for (const set of await findSets(state, missing)) known.set(set.id, set);
  return Promise.all(
    setKeyIds.map(async (id) => {
      const set = known.get(id);
      if (sites && !(set && sites.includes(set.site))) return { denied: 'not-entitled' };
      return decideSet(state, rights, set);
    }),
  );
}

/** The newest sets of a site that a subscriber may read now, newest first. */
export async function readableSets(
  state: KeyServerState,
  subscriber: Subscriber,
  site: string,
  most: number,
): Promise<Pick<SetRow, 'id' | 'name'>[]> {
  const { database, now } = state;
  const rights = await standingRights(state, subscriber);
  if (!rights) return [];
  const sql = 'SELECT id, name FROM sets WHERE site = ? ORDER BY imported DESC, name DESC';
  const sets = await database.all<Pick<SetRow, 'id' | 'name'>>(sql, site);
  const readable: Pick<SetRow, 'id' | 'name'>[] = [];
  for (const set of sets) {
    if (readable.length === most) break;
    if (decideAccess(rights, set.name, now()).denied === undefined) readable.push(set);
  }
  return readable;
}

/** The decision for one set for the reading site, in the form that `openDocument` asks for; a set of another site is none. */
export async function findKeyForReading(
  state: KeyServerState,
  subscriber: Subscriber,
  site: string,
  setKeyId: KeyId,
): Promise<SetKey | Denial | undefined> {
  const [set] = await findSets(state, [setKeyId]);
  if (set?.site !== site) return undefined;
  const decision = await decideSet(state, await standingRights(state, subscriber), set);
  if (decision.denied) return decision.denied;
  return { key: decision.key, notBefore: 0, notAfter: decision.notAfter };
}

/** The key of a set without any subscriber's right: for the teaser of a page, of which nothing else leaves. */
export async function findKeyForTeaser(
  state: KeyServerState,
  site: string,
  setKeyId: KeyId,
): Promise<SetKey | undefined> {
  const [set] = await findSets(state, [setKeyId]);
  if (set?.site !== site) return undefined;
  return { key: await openSetKey(state, set), notBefore: 0, notAfter: state.now() };
}

/** Reason for which a person may not read a set, and what there is to say about it. */
export interface DeniedSet {
  readonly code: Denial | 'key-missing' | 'not-signed-in';
  /** The name of the set; `undefined` where it is not known here. */
  readonly name: string | undefined;
  /** Rights of the person who is signed in, and the one that has ended. */
  readonly rights: readonly Right[];
  readonly ended: Right | undefined;
}

/** @returns `undefined` where the subscriber may read it */
export async function denialOf(
  state: KeyServerState,
  subscriber: Subscriber | undefined,
  site: string,
  setKeyId: KeyId,
): Promise<DeniedSet | undefined> {
  const [set] = await findSets(state, [setKeyId]);
  const name = set?.site === site ? set.name : undefined;
  const about = { name, rights: [], ended: undefined };
  if (!subscriber) return { ...about, code: 'not-signed-in' };
  if (name === undefined) return { ...about, code: 'key-missing' };
  const rights = await standingRights(state, subscriber);
  if (!rights) return { ...about, code: 'revoked' };
  const verdict = decideAccess(rights, name, state.now());
  if (verdict.denied === undefined) return undefined;
  return { name, rights, code: verdict.denied, ended: verdict.denied === 'lapsed' ? verdict.by : undefined };
}

/** Finds the patterns that match no set which is known here. */
export async function patternsWithoutSet(database: Database, patterns: readonly string[]): Promise<string[]> {
  const sets = await database.all<{ name: string }>('SELECT DISTINCT name FROM sets');
  return patterns.filter((pattern) => !sets.some(({ name }) => matchesPattern(pattern, name)));
}

/** Finds rights for a decision; `undefined` after a revocation. */
export async function standingRights(state: KeyServerState, subscriber: Subscriber): Promise<Right[] | undefined> {
  if (subscriber.revoked !== null) return undefined;
  await state.renewRights?.(subscriber.id);
  return rightsOf(state.database, subscriber.id);
}

async function decideSet(
  state: KeyServerState,
  rights: readonly Right[] | undefined,
  set: SetRow | undefined,
): Promise<KeyDecision> {
  if (!rights) return { denied: 'revoked' };
  if (!set) return { denied: 'not-entitled' };
  const verdict = decideAccess(rights, set.name, state.now());
  if (verdict.denied) return { denied: verdict.denied };
  return { denied: undefined, key: await openSetKey(state, set), notAfter: verdict.notAfter };
}

/** Statements are prepared for few numbers of sets: the last one is named again. */
async function findSets({ database }: KeyServerState, ids: readonly KeyId[]): Promise<SetRow[]> {
  const last = ids.at(-1);
  if (last === undefined) return [];
  const places = 2 ** Math.ceil(Math.log2(ids.length));
  const values = [...ids, ...Array<KeyId>(places - ids.length).fill(last)];
  const sql = `SELECT id, name, site, sealed FROM sets WHERE id IN (${values.map(() => '?').join(', ')})`;
  return database.all<SetRow>(sql, ...values);
}

async function openSetKey({ vault }: KeyServerState, set: SetRow): Promise<Uint8Array> {
  const key = set.key ?? (await vault.open(setRow(set.id), set.sealed));
  if (!set.key && (await keyIdOf('set', key)) !== set.id)
    throw new KeyServerError('store-unusable', 'a set key in the database is not the key that it is named');
  set.key = key;
  return key;
}
