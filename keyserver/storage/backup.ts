/** Copies of the SQLite database, made while key servers run, and put back, or into a PostgreSQL. The master key is not in them. */
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { nowInSeconds } from '../../node-support/clock.ts';
import { giveNewName, temporaryBeside } from '../../node-support/files/write-file.ts';
import { describeUnwritable, systemCode, systemReason } from '../../node-support/system-error.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError, unfit } from '../errors.ts';
import { audit } from './audit.ts';
import { copyRows } from './copy-rows.ts';
import { countRows, type Database, SET_SETTING, type Store } from './database.ts';
import { readMasterKeys } from './master-key.ts';
import { sqliteStore } from './sqlite-database.ts';
import { checkCanary, storeOf } from './state.ts';
import { Vault } from './vault.ts';
import { commandActor } from './with-state.ts';

/** Pages to copy in one step, all of them: a copy in several would begin anew with every write of a key server. */
const ALL_PAGES = 2 ** 31 - 1;
/** Suffixes of the files beside a database file. */
const BESIDE = ['-wal', '-shm', '-journal'];
const MADE = 'backup-made';

interface Copied extends Pick<KeyServerConfig, 'masterKey'> {
  readonly file: string;
  readonly isMove: boolean;
}

export interface Restored {
  /** Time at which the copy was made, in seconds since 1970: what came after it is not known. */
  readonly made: number | null;
  /** Subscribers whose open invitations are void, number of sessions ended, and operators removed: these may have been used, or have ended, since. */
  readonly invited: readonly string[];
  readonly sessions: number;
  readonly operators: readonly string[];
  /** Tokens that are good, and passkeys of readers: also those that were withdrawn since. */
  readonly tokens: readonly string[];
  readonly passkeys: number;
  readonly subscribers: number;
  /** Version of the publication, and serial of the publisher's bundle; `null` if there was none. */
  readonly publication: number | null;
  readonly serial: number | null;
}

/**
 * Copies the database into a new file, as it is at one moment.
 *
 * @param check - called with the finished copy before it gets its name; if it throws, there is no copy
 * @throws KeyServerError `argument-invalid` where the file is there; `store-unusable`
 */
export async function backUp(
  config: KeyServerConfig,
  file: string,
  check: (copy: string) => Promise<unknown> = async () => undefined,
): Promise<void> {
  const { data } = config;
  if (data === undefined) throw unfit('the database is at a PostgreSQL server: use its pg_dump');
  const store = sqliteStore(data);
  if ((await store.occupancy()) !== 'filled')
    throw new KeyServerError('store-unusable', `there is no database at ${data} yet`);
  await createBeside(file, async (temporary) => {
    writeFileSync(temporary, '', { mode: 0o600, flag: 'wx' });
    const source = new DatabaseSync(data, { timeout: 5000 });
    try {
      // `sqliteStore` is not used: it would bring a database of an older version up to this one.
      source.prepare(RECORD).run(nowInSeconds(), commandActor());
      await backup(source, temporary, { rate: ALL_PAGES });
    } catch (error) {
      throw store.explain(error);
    } finally {
      source.close();
    }
    const copy = new DatabaseSync(temporary);
    copy.exec('PRAGMA journal_mode = DELETE'); // merges WAL
    copy.prepare(SET_SETTING).run(MADE, String(nowInSeconds()));
    copy.close();
    await check(temporary);
  });
}

/** Restores a copy into a temporary database beside it, and removes that again. @throws KeyServerError as {@link restore} does */
export async function tryRestoring(config: KeyServerConfig, file: string): Promise<void> {
  const temporary = temporaryBeside(file);
  try {
    await openCopy({ ...config, file, isMove: false }, temporary, async (_copy, restored) => restored);
  } finally {
    removeDatabase(temporary);
  }
}

const RECORD = "INSERT INTO audit_news (time, who, action, about, details) VALUES (?, ?, 'backup', '', '{}')";

/**
 * Puts a copy where there is no database: that of the configuration, which may be at a PostgreSQL server. Whatever may have ended since the copy was made
 * is not brought back, except what readers and publishers hold themselves: passwords, passkeys, devices and tokens.
 *
 * @param isMove - nothing has changed since: readers' sessions, invitations and operators stay
 * @throws KeyServerError `argument-invalid` where there is one, or no such copy; `store-unusable`, `storage-key-refused` for a copy that is damaged or
 * under another master key. Nothing is changed then.
 */
export async function restore(config: KeyServerConfig, file: string, isMove: boolean): Promise<Restored> {
  const { data, database } = config;
  const copied = { ...config, file, isMove };
  if (database !== undefined) return restoreToPostgres(copied, await storeOf(config));
  const path = data ?? '';
  const inTheWay = ['', ...BESIDE].map((end) => path + end).find((each) => existsSync(each));
  if (inTheWay !== undefined) throw unfit(`${inTheWay} is there: stop the key server, and move it away first`);
  return createBeside(path, (temporary) => openCopy(copied, temporary, async (_copy, restored) => restored));
}

async function restoreToPostgres(copied: Copied, store: Store): Promise<Restored> {
  if ((await store.occupancy()) !== 'absent') throw unfit(`${store.name} is not empty: name another database`);
  const folder = mkdtempSync(join(tmpdir(), 'wispr-restore-'));
  try {
    return await openCopy(copied, join(folder, 'copy.db'), async (copy, restored) => {
      await store.claim();
      const database = await store.open(async () => undefined);
      try {
        await database.transaction(() => copyRows(copy, database));
        return restored;
      } catch (error) {
        throw store.explain(error);
      } finally {
        await database.close();
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A copy of the copy, checked, brought up to this version, and without what may have been used since. */
async function openCopy(
  { masterKey, file, isMove }: Copied,
  temporary: string,
  use: (copy: Database, restored: Restored) => Promise<Restored>,
): Promise<Restored> {
  const vault = await Vault.create(() => readMasterKeys(masterKey));
  copyIn(file, temporary);
  const store = sqliteStore(temporary);
  await store.inspect((database) => checkCanary(database, vault, masterKey));
  const copy = await store.open(async () => undefined);
  try {
    return await use(copy, await copy.transaction(() => describe(copy, isMove)));
  } finally {
    await copy.close();
  }
}

async function describe(database: Database, isMove: boolean): Promise<Restored> {
  const number = async (sql: string) => (await database.first<{ value: number }>(sql))?.value ?? null;
  const names = async (sql: string) => (await database.all<{ name: string }>(sql)).map(({ name }) => name);
  const made = await database.first<{ value: string }>('SELECT value FROM settings WHERE name = ?', MADE);
  const now = nowInSeconds();
  const open = 'used_by IS NULL';
  const ended = isMove
    ? { invited: [], sessions: 0, operators: [] }
    : {
        invited: await names(
          `SELECT DISTINCT name FROM invitations JOIN subscribers ON subscribers.id = subscriber
           WHERE ${open} AND expires >= ${now} ORDER BY name`,
        ),
        sessions: await countRows(database, 'sessions WHERE expires >= ?', now),
        operators: await names('SELECT name FROM operators ORDER BY name'),
      };
  if (!isMove)
    for (const what of [`invitations WHERE ${open}`, 'sessions', 'operators', 'checkouts'])
      await remove(database, what);
  // People who got a link in the last day need another one.
  if (!isMove) await database.run('UPDATE mailings SET tried = NULL');
  for (const what of ['operator_secrets', 'mail_codes', 'entries', 'passkey_challenges']) await remove(database, what);
  await audit({ database, now: nowInSeconds, actor: commandActor() }, 'restore', '', {
    made: made && Number(made.value),
  });
  return {
    made: made ? Number(made.value) : null,
    ...ended,
    tokens: await names(`SELECT name FROM tokens WHERE expires >= ${now} ORDER BY name`),
    passkeys: await countRows(database, 'reader_passkeys'),
    subscribers: await countRows(database, 'subscribers'),
    publication: await number('SELECT snapshot_version AS value FROM publication'),
    serial: await number('SELECT serial AS value FROM provider'),
  };
}

async function remove(database: Database, what: string): Promise<void> {
  await database.run(`DELETE FROM ${what}`);
}

/** Makes a file under a temporary name, and gives it its own unless there is one. */
async function createBeside<Result>(file: string, write: (temporary: string) => Promise<Result>): Promise<Result> {
  const temporary = temporaryBeside(file);
  try {
    const result = await write(temporary);
    giveNewName(temporary, file);
    return result;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw unfit(`${file} is there already, and nothing is overwritten`);
    if (error instanceof KeyServerError) throw error;
    throw unfit(describeUnwritable(file, error), error);
  } finally {
    removeDatabase(temporary);
  }
}

function removeDatabase(file: string): void {
  for (const end of ['', ...BESIDE]) rmSync(file + end, { force: true });
}

function copyIn(file: string, temporary: string): void {
  try {
    copyFileSync(file, temporary);
    chmodSync(temporary, 0o600);
  } catch (cause) {
    throw new KeyServerError('argument-invalid', `cannot copy ${file}: ${systemReason(cause)}`, { cause, typed: true });
  }
}
