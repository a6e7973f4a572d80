/**
 * Changes the master key while key servers run. Each step can be cut short and is gone on with by the next run:
 *
 * 1. A version is added where the master keys are. Nothing is sealed under it yet, so other key servers can be given it first.
 * 2. The canary is sealed under it: from then on every process seals under this version. One that does not know it yet reads the keys again.
 * 3. All rows are sealed anew, in batches.
 * 4. The older versions are removed, when no row is under them any more.
 */
import { u32 } from '../../core/encoding/bytes.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { unfit } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import { type MasterKeys, nameOfSource, readMasterKeys, withNewKey, writeMasterKeys } from '../storage/master-key.ts';
import { currentVersion, type KeyServerState, setCanary } from '../storage/state.ts';
import { rowsNotUnder, SEALED_TABLES, type SealedRow, type SealedTable } from './sealed-rows.ts';

const BATCH = 500;

export interface MasterRotation {
  /**
   * `added`: the new version has to be brought to the other key servers, before the next run uses it. `sealed`: all rows are under it.
   * `removed`: and the older versions are gone.
   */
  readonly outcome: 'added' | 'removed' | 'sealed';
  /** The version that rows are under, or will be. */
  readonly version: number;
  readonly rows: number;
  /** Versions that are not needed any more, and still there; after `removed`, those that were removed. */
  readonly older: readonly number[];
}

/**
 * Adds a version, or goes on with the change that was begun.
 *
 * @throws KeyServerError `argument-invalid` where a version has to be added by hand; `store-unusable` where a row does not open
 */
export async function rotateMasterKey(state: KeyServerState, config: KeyServerConfig): Promise<MasterRotation> {
  const { database, vault } = state;
  const before = await readMasterKeys(config.masterKey);
  const current = await currentVersion(database);
  const isBegun = newest(before) > current || before.size > 1 || (await countRowsNotUnder(state, current)) > 0;
  const keys = isBegun ? before : addVersion(before, config);
  if (!isBegun) await audit(state, 'rotate', 'master', { added: newest(keys) });
  // Key servers that share a database all need the new version first.
  if (!isBegun && config.database !== undefined) return { outcome: 'added', version: newest(keys), rows: 0, older: [] };
  const version = newest(keys);
  await vault.readAgain();
  if (version > current)
    await database.transaction(async () => {
      await setCanary(database, vault, version);
      await audit(state, 'rotate', 'master', { used: version });
    });
  const rows = await sealAll(state, version);
  return { outcome: 'sealed', version, rows, older: olderThan(keys, version) };
}

/**
 * Removes the versions that no row is under.
 *
 * @throws KeyServerError `argument-invalid` where rows are under them, or they are not in a file; as {@link rotateMasterKey}
 */
export async function removeOlderKeys(state: KeyServerState, { masterKey }: KeyServerConfig): Promise<MasterRotation> {
  const keys = await readMasterKeys(masterKey);
  const version = await currentVersion(state.database);
  if (newest(keys) !== version)
    throw unfit('a newer version was added and is not in use: run "wispr admin rotate master" first');
  const rows = await sealAll(state, version); // rows of requests that had begun before the change
  const older = olderThan(keys, version);
  const kept = keys.get(version);
  if (older.length === 0 || kept === undefined) return { outcome: 'removed', version, rows, older };
  if (typeof masterKey !== 'string')
    throw unfit(`no row is under version ${older.join(', ')} any more: remove that line at ${nameOfSource(masterKey)}`);
  writeMasterKeys(masterKey, new Map([[version, kept]]));
  await audit(state, 'rotate', 'master', { removed: older });
  return { outcome: 'removed', version, rows, older };
}

function addVersion(keys: MasterKeys, { masterKey }: KeyServerConfig): MasterKeys {
  const more = withNewKey(keys);
  if (typeof masterKey !== 'string')
    throw unfit(`add a line with version ${newest(more)} at ${nameOfSource(masterKey)} first`);
  writeMasterKeys(masterKey, more);
  return more;
}

/** Seals all rows anew that are not under `version`. What changes meanwhile is looked for again. @returns how many */
async function sealAll(state: KeyServerState, version: number): Promise<number> {
  let rows = 0;
  for (;;) {
    for (const table of SEALED_TABLES) rows += await sealTable(state, table, version);
    if ((await countRowsNotUnder(state, version)) === 0) return rows;
  }
}

async function sealTable(state: KeyServerState, table: SealedTable, version: number): Promise<number> {
  let [after, rows] = [table.start, 0];
  for (;;) {
    const batch = await rowsNotUnder(state.database, table, { version: u32(version), after, limit: BATCH });
    const last = batch.at(-1);
    if (last === undefined) return rows;
    rows += await sealBatch(state, table, batch, version);
    after = last[table.key] as number | string;
  }
}

/** A row that was changed meanwhile stays as it is. @returns how many were sealed */
async function sealBatch(
  { database, vault }: KeyServerState,
  { table, key, refOf }: SealedTable,
  batch: readonly SealedRow[],
  version: number,
): Promise<number> {
  const sealed = new Map<SealedRow, Uint8Array>();
  for (const row of batch) {
    const place = await refOf(row);
    sealed.set(row, await vault.seal(place, await vault.open(place, row.sealed), version));
  }
  const sql = `UPDATE ${table} SET sealed = ? WHERE ${key} = ? AND sealed = ?`;
  return database.transaction(async () => {
    let rows = 0;
    for (const [row, bytes] of sealed) rows += await database.run(sql, bytes, row[key] as number | string, row.sealed);
    return rows;
  });
}

async function countRowsNotUnder({ database }: KeyServerState, version: number): Promise<number> {
  let rows = 0;
  for (const table of SEALED_TABLES)
    rows += (await rowsNotUnder(database, table, { version: u32(version), after: table.start, limit: 1 })).length;
  return rows;
}

function newest(keys: MasterKeys): number {
  return Math.max(...keys.keys());
}

function olderThan(keys: MasterKeys, version: number): number[] {
  return [...keys.keys()].filter((other) => other < version);
}
