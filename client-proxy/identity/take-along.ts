/** Exporting the identity into a roaming file, and importing it on another machine. */
import { closeSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { readRoamingSalt } from '../../core/keys/roaming.ts';
import { moveIntoPlace, temporaryBeside } from '../../node-support/files/write-file.ts';
import { describeUnwritable, systemCode } from '../../node-support/system-error.ts';
import { type Reach, reaching } from '../connect/reach.ts';
import type { ObjectCache } from '../documents/cache/object-cache.ts';
import { forgetCachedSites } from '../documents/cache/sweep.ts';
import { ReaderError } from '../errors.ts';
import type { Upstream } from '../network/upstream.ts';
import { inReader } from '../running/in-reader.ts';
import { cacheDirectoryFor, requireDatabase, type StorageOptions, storeOptions } from '../store/locations.ts';
import type { KeyLocation } from '../store/protection.ts';
import { ReaderStore } from '../store/store.ts';
import {
  type ArrivalDialog,
  type ArrivalMeans,
  type ArrivalOptions,
  type ArrivalReport,
  openArrival,
  type RoamingFile,
  unpackIdentity,
} from './arrival.ts';
import { fetchRoaming } from './fetch-roaming.ts';
import { askingFor, describeIdentity, type OpenIdentity, type PassphraseDialog, requirePassphrase } from './manage.ts';
import { packIdentity } from './roaming.ts';

const MAGIC = 'wispr-roaming/';

export interface ExportOptions extends StorageOptions {
  /** Path of the file. A previous one is replaced, nothing else is. */
  readonly to: string;
  readonly newWords: boolean;
  /** Given new words, before the file is there: so that there is no file whose words are lost. */
  readonly showWords: (words: string) => Promise<void>;
}

export interface ExportReport {
  readonly number: number;
  readonly sites: readonly string[];
  readonly hasNewWords: boolean;
}

/** Puts the file down, under a name beside its own, and hands on new words. */
interface ExportDialog extends PassphraseDialog {
  put(packed: { readonly file: string; readonly words?: string | undefined }): Promise<void>;
}

/** Writes the next roaming file, whole or not at all. @throws ReaderError `not-connected`, `output-failed` */
export async function exportIdentity({ to, newWords, showWords, ...options }: ExportOptions): Promise<ExportReport> {
  const storage = storeOptions(options);
  const { directory } = storage;
  requireDatabase(directory);
  checkReplaceable(to);
  const beside = temporaryBeside(to);
  const dialog: ExportDialog = {
    ...askingFor(options),
    put: async ({ file, words }) => {
      write(() => writeFileSync(beside, Buffer.from(file, 'base64url'), { mode: 0o600, flag: 'wx', flush: true }), to);
      if (words !== undefined) await showWords(words);
    },
  };
  try {
    const report = await inReader<ExportReport>(
      { directory, name: 'export', request: { newWords }, dialog },
      async () => {
        using store = await ReaderStore.open(storage);
        return await exportStored({ store }, { newWords }, dialog);
      },
    );
    write(() => moveIntoPlace(beside, to), to);
    return report;
  } finally {
    rmSync(beside, { force: true });
  }
}

/** Holds for the Reader that runs, too. */
export async function exportStored(
  { store, lock }: OpenIdentity,
  { newWords }: Pick<ExportOptions, 'newWords'>,
  dialog: ExportDialog,
): Promise<ExportReport> {
  await requirePassphrase(lock, dialog);
  const { file, number, words, sites, remember } = await packIdentity(store, newWords);
  await dialog.put({ file: toBase64url(file), words });
  await remember();
  return { number, sites, hasNewWords: words !== undefined };
}

/** A mistyped name must not overwrite another file. */
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
    throw new ReaderError('output-failed', `${path} is there already, and it is no roaming file`, { typed: true });
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
  return new ReaderError('output-failed', describeUnwritable(path, cause), { cause, typed });
}

export interface RoamingImportOptions extends StorageOptions, Reach, ArrivalOptions {
  readonly from: string;
  /** Asked once the file is there; as words.ts gives them. */
  readonly words: () => Promise<string>;
  readonly confirm: ArrivalDialog['confirm'];
}

export interface ImportReport extends ArrivalReport {
  /** Place of the reader's keys, if it was decided just now. */
  readonly keysNowIn: KeyLocation['kind'] | undefined;
  readonly isRunning: boolean;
  /** Tells whether what was read of the sites that were forgotten is gone. */
  readonly cacheForgotten: boolean;
}

interface ImportRequest extends ArrivalOptions, Reach {
  readonly file: string;
  readonly words: string;
}

type ImportDialog = PassphraseDialog & ArrivalDialog;

/**
 * Takes over the identity in a roaming file: all that was confirmed, or nothing.
 *
 * @throws ReaderError, KeyError; where a key file is lost, before the words are asked for: what it may open once it is found is not for us to remove
 */
export async function importIdentity({
  from,
  words,
  confirm,
  ...options
}: RoamingImportOptions): Promise<ImportReport> {
  const bytes = await fetchRoaming(from, options);
  readRoamingSalt(bytes); // refuses other files before asking
  const { directory, keyProblem } = await describeIdentity(options);
  if (keyProblem) throw keyProblem;
  const { replace, acceptOlder, trustSites, dnsServers, connectTo, allowLocal, ca } = options;
  const how = { replace, acceptOlder, trustSites, dnsServers, connectTo, allowLocal, ca };
  const request: ImportRequest = { file: toBase64url(bytes), words: await words(), ...how };
  const dialog: ImportDialog = { ...askingFor(options), confirm };
  return inReader({ directory, name: 'import', request: { ...request }, dialog }, async () => {
    const opened = await openArrival(bytes, request.words); // comes before a passphrase is chosen for a new database
    using store = await ReaderStore.open(storeOptions(options));
    return await importInto({ store }, cacheDirectoryFor(options.dataDirectory), opened, how, dialog);
  });
}

/** Imports into the running Reader. */
export async function importStored(
  { store, lock, cache, upstream: running }: Required<OpenIdentity> & ArrivalMeans & { readonly cache: ObjectCache },
  { file, words, ...options }: ImportRequest,
  dialog: ImportDialog,
): Promise<ImportReport> {
  if (lock.isLocked && lock.isEmpty) await lock.unlock(); // everything was forgotten: this makes new keys
  await requirePassphrase(lock, dialog);
  const opened = await openArrival(Buffer.from(file, 'base64url'), words);
  return importInto({ store, running }, cache.directory, opened, options, dialog);
}

async function importInto(
  { store, running }: { readonly store: ReaderStore; readonly running?: Upstream },
  cacheDirectory: string,
  opened: RoamingFile,
  options: ArrivalOptions & Reach,
  dialog: ArrivalDialog,
): Promise<ImportReport> {
  const unpack = (upstream: Upstream) => unpackIdentity({ store, upstream }, opened, options, dialog);
  const report = await reaching({ store, running }, options, unpack);
  const cacheForgotten = await forgetCachedSites(cacheDirectory, report.removed);
  const isRunning = running !== undefined;
  return { ...report, isRunning, cacheForgotten, keysNowIn: store.isFresh ? store.keyLocation?.kind : undefined };
}
