/** Taking the identity along: into a roaming file, and out of one on another machine. */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readRoamingSalt } from '../../core/keys/roaming.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { forgetCachedSites } from '../cache/forget-cache.ts';
import { ReaderError } from '../errors.ts';
import { keyFileProblem } from '../store/keys-in.ts';
import {
  cacheDirectoryFor,
  hasDatabase,
  requireDatabase,
  type StorageOptions,
  storeOptions,
} from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import { ReaderStore } from '../store/store.ts';
import { type FetchRoamingOptions, fetchRoaming } from './fetch-roaming.ts';
import { type ArrivalOptions, type ArrivalReport, openArrival, packIdentity, unpackIdentity } from './roaming.ts';

const MAGIC = 'wispr-roaming/';

export interface ExportOptions extends StorageOptions {
  /** Where the file goes. One of before is replaced, nothing else is. */
  readonly to: string;
  /** Instead of the words of before. */
  readonly newWords: boolean;
  /** Given new words, before the file is there: so that none is there whose words nobody has. */
  readonly showWords: (words: string) => Promise<void>;
}

export interface ExportReport {
  readonly number: number;
  readonly sites: readonly string[];
  readonly hasNewWords: boolean;
}

/**
 * Writes the next roaming file, whole or not at all.
 *
 * @throws ReaderError `no-identity`, `roaming-exists`, `roaming-unwritable`, and of the store
 */
export async function exportIdentity({ to, newWords, showWords, ...options }: ExportOptions): Promise<ExportReport> {
  const storage = storeOptions(options);
  requireDatabase(storage.directory);
  checkReplaceable(to);
  const store = await ReaderStore.open(storage);
  const beside = `${to}.new-${randomBytes(4).toString('hex')}`;
  try {
    const { file, number, words, sites, remember } = await packIdentity(store, newWords);
    write(() => writeFileSync(beside, file, { mode: 0o600, flag: 'wx', flush: true }), to);
    if (words !== undefined) await showWords(words);
    await remember();
    write(() => renameSync(beside, to), to);
    return { number, sites, hasNewWords: words !== undefined };
  } finally {
    rmSync(beside, { force: true });
    store.close();
  }
}

/** A name that was mistyped must not cost somebody a file. */
function checkReplaceable(path: string): void {
  const start = Buffer.alloc(MAGIC.length);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, start, 0, start.length, 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    throw unwritable(path, error, true);
  }
  if (start.toString('latin1') !== MAGIC)
    throw new ReaderError('roaming-exists', `${path} is there already, and it is no roaming file`, {
      typed: true,
      hint: 'choose another name; nothing was changed',
    });
}

function write(work: () => void, path: string): void {
  try {
    work();
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/** @param typed - the name itself is what is wrong */
function unwritable(path: string, cause: unknown, typed = false): ReaderError {
  return new ReaderError('roaming-unwritable', `cannot write ${path}: ${systemReason(cause)}`, {
    cause,
    typed,
    hint: typed
      ? 'choose another name, in a folder of yours; nothing was changed'
      : 'check the space and the permissions of the folder',
  });
}

export interface ImportOptions extends StorageOptions, FetchRoamingOptions, ArrivalOptions {
  /** URL or path. */
  readonly from: string;
  /** Asked once the file is there; as words.ts gives them. */
  readonly words: () => Promise<string>;
}

export interface ImportReport extends ArrivalReport {
  /** Where the reader's keys are kept, if that was decided just now. */
  readonly keysNowIn: KeyPlace['kind'] | undefined;
  /** Whether what was read of the sites that were forgotten is gone. */
  readonly cacheForgotten: boolean;
}

/**
 * Takes over the identity in a roaming file: all of it or nothing.
 *
 * @throws ReaderError, KeyError; where a key file is lost, before the words are asked for: what it may open once it is found is not for us to remove
 */
export async function importIdentity({ from, words, ...options }: ImportOptions): Promise<ImportReport> {
  const file = await fetchRoaming(from, options);
  readRoamingSalt(file); // what is none needs no words
  await requireKey(options); // nobody types seven words for a database that takes nothing
  const opened = await openArrival(file, await words()); // nobody chooses a passphrase for what does not open
  const store = await ReaderStore.open(storeOptions(options));
  try {
    const report = await unpackIdentity(store, opened, options);
    const cacheForgotten = await forgetCachedSites(cacheDirectoryFor(options.dataDirectory), report.removed);
    return { ...report, cacheForgotten, keysNowIn: store.isFresh ? store.keyPlace : undefined };
  } finally {
    store.close();
  }
}

async function requireKey(options: StorageOptions): Promise<void> {
  const { directory, keyFile } = storeOptions(options);
  const problem = hasDatabase(directory) ? await keyFileProblem(directory, keyFile) : undefined;
  if (problem) throw problem;
}
