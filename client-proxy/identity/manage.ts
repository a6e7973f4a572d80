/** Describes the identity on this machine, and protects, locks or forgets it. */
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CodedError } from '../../core/errors.ts';
import { CACHE_FOLDERS } from '../documents/cache/layout.ts';
import { SMALL_FILES } from '../documents/cache/small-objects.ts';
import { forgetCached, forgetCachedSites } from '../documents/cache/sweep.ts';
import { ReaderError } from '../errors.ts';
import { describeError, RunningReaderError, type SerializedError } from '../running/conversation.ts';
import { askReader, inReader } from '../running/in-reader.ts';
import { SOCKET_FOLDER } from '../running/socket.ts';
import { askStatus } from '../running/status.ts';
import type { ConnectedPublisher } from '../store/identity-store.ts';
import { whyNoKeyring } from '../store/keyring.ts';
import {
  cacheDirectoryFor,
  DATABASE_FILES,
  hasDatabase,
  requireDatabase,
  type StorageOptions,
  storeOptions,
} from '../store/locations.ts';
import type { KeyLocation } from '../store/protection.ts';
import type { ProtectionChange } from '../store/sealed-database.ts';
import {
  discardKey,
  newKeyFileKey,
  newKeyringKey,
  newPassphraseKey,
  unexpectedPassphrase,
} from '../store/storage-key.ts';
import { ReaderStore } from '../store/store.ts';
import type { RoamingRecord } from '../store/types.ts';
import type { ReaderLock } from './lock.ts';

/** Store that is open; of the Reader that runs, with its lock. */
export interface OpenIdentity {
  readonly store: ReaderStore;
  readonly lock?: ReaderLock;
}

interface StoredIdentity {
  /** `undefined` where there is no identity yet. */
  readonly keysIn: KeyLocation['kind'] | undefined;
  readonly publishers: readonly ConnectedPublisher[];
  /** The last roaming file that this device wrote, or took over. */
  readonly roaming: Pick<RoamingRecord, 'number' | 'written'> | undefined;
}

export interface IdentityReport extends StoredIdentity {
  readonly directory: string;
  readonly keyFile: string;
  /** Fault of that file, where the key should be in it: nothing can be opened then. */
  readonly keyProblem: CodedError | undefined;
  /** Reason why the system's keyring could not be used, where that is known without asking it. */
  readonly whyNoKeyring: string | undefined;
}

type SerializedIdentity = StoredIdentity & { readonly keyProblem: SerializedError | undefined };

/** Looks, without needing a key, and without making anything; a key file is looked at, so that it is not said to be fine when it is lost. */
export async function describeIdentity(options: StorageOptions): Promise<IdentityReport> {
  const { directory, keyFile } = storeOptions(options);
  const place = { directory, keyFile, keyProblem: undefined, whyNoKeyring: whyNoKeyring() };
  if (!hasDatabase(directory)) return { ...place, keysIn: undefined, publishers: [], roaming: undefined };
  const command = { directory, name: 'identity', request: { keyFile } } as const;
  const { keyProblem, ...stored } = await inReader<SerializedIdentity>(command, () =>
    withLockedStore(options, (store) => describeStored(store, keyFile)),
  );
  return { ...place, ...stored, keyProblem: keyProblem && new RunningReaderError(keyProblem) };
}

/** Holds for the Reader that runs, too. */
export async function describeStored(store: ReaderStore, keyFile: string): Promise<SerializedIdentity> {
  const problem = await store.keyFileProblem(keyFile);
  const roaming = store.identity().ownRoaming();
  return {
    keysIn: store.keyLocation?.kind,
    keyProblem: problem && describeError(problem),
    publishers: await store.identity().publishers(),
    roaming: roaming && { number: roaming.number, written: roaming.written },
  };
}

export type NewProtection =
  | { readonly kind: 'keyring' | 'key-file' }
  | { readonly kind: 'passphrase'; readonly choose: () => Promise<string> };

interface ProtectRequest {
  readonly kind: KeyLocation['kind'];
  readonly keyFile: string;
}

/** Asks for the passphrase of the database: a Reader that is unlocked does not make it needless. */
export interface PassphraseDialog {
  passphrase(): Promise<string | undefined>;
}

interface ProtectDialog extends PassphraseDialog {
  choose(): Promise<string>;
}

/** Moves the key of the database, or changes the passphrase. @throws ReaderError; nothing was changed then */
export async function protectIdentity(options: StorageOptions, how: NewProtection): Promise<ProtectionChange> {
  const storage = storeOptions(options);
  const { directory, keyFile, limits } = storage;
  requireDatabase(directory);
  const request = { kind: how.kind, keyFile };
  const choose = how.kind === 'passphrase' ? how.choose : async () => '';
  const dialog: ProtectDialog = { ...askingFor(options), choose };
  return inReader({ directory, limits, name: 'protect', request, dialog }, async () => {
    using store = await ReaderStore.open(storage);
    return await protectStored({ store }, request, dialog);
  });
}

/** Holds for the Reader that runs, too. */
export async function protectStored(
  { store, lock }: OpenIdentity,
  { kind, keyFile }: ProtectRequest,
  dialog: ProtectDialog,
): Promise<ProtectionChange> {
  await requirePassphrase(lock, dialog);
  return store.changeProtection(async () => {
    if (kind === 'passphrase') return newPassphraseKey(await dialog.choose());
    return kind === 'keyring' ? newKeyringKey(store.limits.keyringTimeout) : newKeyFileKey(keyFile);
  });
}

/** @returns a dialog that has the passphrase, or asks for it */
export function askingFor({ passphrase, askPassphrase }: StorageOptions): PassphraseDialog {
  return { passphrase: async () => (passphrase ?? askPassphrase)?.(false) };
}

/** @throws ReaderError `reader-locked`, `passphrase-needed`, `passphrase-wrong`, `too-many-requests` */
export async function requirePassphrase(lock: ReaderLock | undefined, { passphrase }: PassphraseDialog): Promise<void> {
  if (!lock?.needsPassphrase || lock.isLocked) return; // a locked store refuses by itself
  const given = await passphrase();
  if (given === undefined)
    throw new ReaderError('passphrase-needed', "the reader's database is protected by a passphrase");
  await lock.checkPassphrase(given);
}

export interface LockReport {
  readonly url: string;
  readonly keysIn?: KeyLocation['kind'];
}

/** Lets the Reader that runs on the database drop its keys. @returns `undefined` where none runs */
export async function lockReader(options: StorageOptions): Promise<LockReport | undefined> {
  const { directory, limits } = storeOptions(options);
  const answered = await askReader<LockReport>({ directory, limits, name: 'lock' });
  if (answered === undefined) requireDatabase(directory);
  return answered?.result;
}

/** Lets the Reader that runs on the database have its keys again. @returns `undefined` where none runs */
export async function unlockReader(
  options: StorageOptions,
  passphrase: () => Promise<string>,
): Promise<LockReport | undefined> {
  const { directory } = storeOptions(options);
  const running = await askStatus(directory);
  if (running === undefined) {
    requireDatabase(directory);
    return undefined;
  }
  const { keysIn } = running;
  if (options.passphrase !== undefined && keysIn !== undefined && keysIn !== 'passphrase') throw unexpectedPassphrase();
  const request = keysIn === 'passphrase' ? { passphrase: await passphrase() } : {};
  return (await askReader<LockReport>({ directory, name: 'unlock', request }))?.result;
}

export interface Forgotten {
  readonly publishers: readonly ConnectedPublisher[];
  /** Tells whether what is removed was overwritten on the disk, as far as this program reaches. */
  readonly overwritten: boolean;
  readonly cacheDirectory: string;
  /** Tells whether what was read of these publishers is gone from there. */
  readonly cacheForgotten: boolean;
  /** Tells whether there are roaming files, as far as this device knows: they have it still. */
  readonly hasRoamed: boolean;
}

/** The publisher that has this site, root id or key server. @throws ReaderError `not-connected` */
export async function findPublisher(options: StorageOptions, named: string): Promise<ConnectedPublisher> {
  const { publishers } = await describeIdentity(options);
  const wanted = named.toLowerCase().replace(/\/$/, '');
  const found = publishers.find(
    ({ sites, publisher, keyServer }) => publisher === named || keyServer === wanted || sites.includes(wanted),
  );
  if (found) return found;
  throw notConnected(named);
}

function notConnected(named: string): ReaderError {
  return new ReaderError('not-connected', `this device is not connected with ${named}`, { typed: true });
}

/** Forgets one publisher: its sites, the keys of this device with it and of its sets, what is kept of its publications, and what was read. */
export function forgetPublisher(options: StorageOptions, { id, publisher }: ConnectedPublisher): Promise<Forgotten> {
  const { directory } = storeOptions(options);
  const request = { id, publisher };
  return inReader({ directory, name: 'forget', request }, () =>
    withLockedStore(options, (store) => forgetIn(store, cacheDirectoryFor(options.dataDirectory), request)),
  );
}

/** Forgets one publisher in an open store. @throws ReaderError `not-connected` */
export async function forgetIn(
  store: ReaderStore,
  cacheDirectory: string,
  { id, publisher }: Pick<ConnectedPublisher, 'id' | 'publisher'>,
): Promise<Forgotten> {
  const found = (await store.identity().publishers()).find((one) => one.id === id && one.publisher === publisher);
  if (found === undefined) throw notConnected(publisher); // forgotten since it was looked for
  const { hasRoamed } = store.identity();
  const overwritten = store.identity().forgetBinding(id);
  const cacheForgotten = await forgetCachedSites(cacheDirectory, found.sites);
  return { publishers: [found], overwritten, cacheDirectory, cacheForgotten, hasRoamed };
}

interface ForgottenStore extends Forgotten {
  readonly wasEmpty: boolean;
  /** `false` where the system's keyring did not remove its entry. */
  readonly keyDiscarded: boolean;
  readonly keysIn: KeyLocation['kind'] | undefined;
  /** Tells whether a Reader runs, and keeps the empty database. */
  readonly isRunning: boolean;
}

export interface ForgottenAll extends Omit<ForgottenStore, 'keysIn'> {
  readonly directory: string;
  /** Stays: other databases may need it. */
  readonly keyFileLeft: string | undefined;
}

/** Forgets everything, also where the key of the database is lost. @throws ReaderError of the store */
export async function forgetEverything(options: StorageOptions): Promise<ForgottenAll> {
  const { directory, keyFile } = storeOptions(options);
  requireDatabase(directory);
  const cacheDirectory = cacheDirectoryFor(options.dataDirectory);
  const { keysIn, ...all } = await inReader<ForgottenStore>({ directory, name: 'forget-everything' }, () =>
    withLockedStore(options, (store) => forgetAllIn(store, cacheDirectory, false)),
  );
  if (!all.isRunning) removeFiles(directory, cacheDirectory);
  return { ...all, directory, keyFileLeft: keysIn === 'key-file' ? keyFile : undefined };
}

/** Forgets everything in an open store, which is locked then. */
export async function forgetAllIn(
  store: ReaderStore,
  cacheDirectory: string,
  isRunning: boolean,
): Promise<ForgottenStore> {
  const place = store.keyLocation;
  const { hasRoamed } = store.identity();
  const publishers = await store.identity().publishers();
  const overwritten = store.identity().forgetAll();
  return {
    publishers,
    hasRoamed,
    isRunning,
    overwritten,
    wasEmpty: place === undefined,
    cacheDirectory,
    cacheForgotten: await forgetCached(cacheDirectory),
    keyDiscarded: place === undefined || (await discardKey(place, store.limits)),
    keysIn: place?.kind,
  };
}

/** Removes the database, and the folders of what was read, where nothing else is in them. */
function removeFiles(directory: string, cacheDirectory: string): void {
  for (const name of DATABASE_FILES) rmSync(join(directory, name), { force: true });
  for (const name of SMALL_FILES) rmSync(join(cacheDirectory, name), { force: true });
  const caches = CACHE_FOLDERS.map((name) => join(cacheDirectory, name));
  for (const folder of [...caches, cacheDirectory, join(directory, SOCKET_FOLDER), directory]) {
    try {
      rmdirSync(folder);
    } catch {
      // something else is in it, or it was never there
    }
  }
}

async function withLockedStore<Result>(
  options: StorageOptions,
  work: (store: ReaderStore) => Promise<Result>,
): Promise<Result> {
  using store = ReaderStore.openLocked(storeOptions(options));
  return await work(store);
}
