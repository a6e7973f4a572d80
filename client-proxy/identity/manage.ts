/** What there is of the identity on this machine, and what its reader may do with it: protect, lock, forget. */
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { forgetCached, forgetCachedSites } from '../cache/forget-cache.ts';
import { CACHE_FOLDERS } from '../cache/layout.ts';
import { ReaderError } from '../errors.ts';
import { announcedReaders } from '../running/announcement.ts';
import { tellReaders } from '../running/ask-readers.ts';
import type { ReaderAnswer } from '../running/contract.ts';
import { changeProtection, type ProtectionChange } from '../store/change-protection.ts';
import { whyNoKeyring } from '../store/keyring.ts';
import { keyFileProblem, keyPlaceOf, keysIn } from '../store/keys-in.ts';
import {
  cacheDirectoryFor,
  DATABASE_FILES,
  hasDatabase,
  requireDatabase,
  type StorageOptions,
  storeOptions,
} from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import type { SeenRoaming } from '../store/roaming-store.ts';
import {
  discardKey,
  newKeyFileKey,
  newKeyringKey,
  newPassphraseKey,
  unexpectedPassphrase,
} from '../store/storage-key.ts';
import { type ConnectedPublisher, ReaderStore } from '../store/store.ts';

export interface IdentityReport {
  /** The folder of the database. */
  readonly directory: string;
  /** `undefined` where there is no identity yet. */
  readonly keysIn: KeyPlace['kind'] | undefined;
  readonly keyFile: string;
  /** What is wrong with that file, where the key should be in it: nothing can be opened then. */
  readonly keyProblem: ReaderError | undefined;
  /** Why the system's keyring could not be used, where that is known without asking it. */
  readonly whyNoKeyring: string | undefined;
  readonly publishers: readonly ConnectedPublisher[];
  /** The last roaming file that this device wrote, or took over. */
  readonly roaming: Pick<SeenRoaming, 'number' | 'written'> | undefined;
}

/** Looks, without needing a key, and without making anything; a key file is looked at, so that it is not said to be fine when it is lost. */
export async function describeIdentity(options: StorageOptions): Promise<IdentityReport> {
  const { directory, keyFile } = storeOptions(options);
  const place = { directory, keyFile, keyProblem: undefined, whyNoKeyring: whyNoKeyring() };
  if (!hasDatabase(directory)) return { ...place, keysIn: undefined, publishers: [], roaming: undefined };
  const keyProblem = await keyFileProblem(directory, keyFile);
  return withLockedStore(options, async (store) => ({
    ...place,
    keyProblem,
    keysIn: store.keyPlace,
    publishers: await store.identity().publishers(),
    roaming: store.identity().ownRoaming(),
  }));
}

/** Where the key of the database shall be. */
export type NewProtection =
  | { readonly kind: 'keyring' | 'key-file' }
  | { readonly kind: 'passphrase'; readonly choose: () => Promise<string> };

export interface ProtectReport extends ProtectionChange {
  /** What became of the Readers that run on the database: they go on with the new key. */
  readonly readers: readonly ReaderAnswer[];
}

/**
 * Puts the key of the database somewhere else, or changes the passphrase.
 *
 * @throws ReaderError; nothing was changed then
 */
export async function protectIdentity(options: StorageOptions, how: NewProtection): Promise<ProtectReport> {
  const store = storeOptions(options);
  requireDatabase(store.directory);
  let passphrase: string | undefined;
  const change = await changeProtection(store, async () => {
    if (how.kind !== 'passphrase') return how.kind === 'keyring' ? newKeyringKey() : newKeyFileKey(store.keyFile);
    passphrase = await how.choose();
    return newPassphraseKey(passphrase);
  });
  const request = { do: 'unlock', ...(passphrase !== undefined && { passphrase }) } as const;
  return { ...change, readers: await tellReaders(store.directory, request) };
}

export interface LockReport {
  readonly keysIn: KeyPlace['kind'] | undefined;
  readonly readers: readonly ReaderAnswer[];
}

/**
 * Lets every Reader that runs on the database drop its keys, whatever has become of the database meanwhile.
 *
 * @throws ReaderError `no-identity` where there is neither; `store-unusable` where nobody can say whether one runs
 */
export async function lockReaders(options: StorageOptions): Promise<LockReport> {
  const { directory } = storeOptions(options);
  const readers = await tellReaders(directory, { do: 'lock' });
  if (readers.length === 0) requireDatabase(directory);
  return { keysIn: keyPlaceOf(directory), readers };
}

/**
 * Lets every Reader that runs on the database have its keys again. One whose database was erased says that it gets none.
 *
 * @param passphrase - asked for where the database is protected by one
 * @throws ReaderError `passphrase-unexpected` where one was given and none protects it: it was checked by nobody; `no-identity` where there is
 * neither database nor Reader
 */
export async function unlockReaders(options: StorageOptions, passphrase: () => Promise<string>): Promise<LockReport> {
  const { directory } = storeOptions(options);
  if (!hasDatabase(directory)) return unlockWithoutDatabase(directory);
  const place = keysIn(directory)?.kind;
  if (options.passphrase !== undefined && place !== undefined && place !== 'passphrase') throw unexpectedPassphrase();
  const request = { do: 'unlock', ...(place === 'passphrase' && { passphrase: await passphrase() }) } as const;
  return { keysIn: place, readers: await tellReaders(directory, request) };
}

async function unlockWithoutDatabase(directory: string): Promise<LockReport> {
  const readers = await tellReaders(directory, { do: 'unlock' });
  if (readers.length === 0) requireDatabase(directory);
  return { keysIn: undefined, readers };
}

export interface Forgotten {
  readonly publishers: readonly ConnectedPublisher[];
  /** Whether what was removed is overwritten on the disk, as far as this program reaches. */
  readonly overwritten: boolean;
  /** Where what was read lies. */
  readonly cacheDirectory: string;
  /** Whether what was read of these publishers is gone from there. */
  readonly cacheForgotten: boolean;
  /** Whether there are roaming files, as far as this device knows: they have it still. */
  readonly hasRoamed: boolean;
}

/**
 * The publisher that a reader means: by a site, by its root id, or by its key server.
 *
 * @throws ReaderError `not-connected`
 */
export async function findPublisher(options: StorageOptions, named: string): Promise<ConnectedPublisher> {
  const { publishers } = await describeIdentity(options);
  const wanted = named.toLowerCase().replace(/\/$/, '');
  const found = publishers.find(
    ({ sites, publisher, keyServer }) => publisher === named || keyServer === wanted || sites.includes(wanted),
  );
  if (found) return found;
  throw new ReaderError('not-connected', `this device is not connected with ${named}`, {
    typed: true,
    hint: '"wispr identity" lists the publishers and their sites',
  });
}

/** Forgets one publisher: its sites, the keys of this device with it and of its sets, what is kept of its publications, and what was read. */
export function forgetPublisher(options: StorageOptions, publisher: ConnectedPublisher): Promise<Forgotten> {
  return withLockedStore(options, async (store) => {
    const { hasRoamed } = store.identity();
    const overwritten = store.identity().forgetBinding(publisher.id);
    const cacheDirectory = cacheDirectoryFor(options.dataDirectory);
    const cacheForgotten = await forgetCachedSites(cacheDirectory, publisher.sites);
    return { publishers: [publisher], overwritten, cacheDirectory, cacheForgotten, hasRoamed };
  });
}

export interface ForgottenAll extends Forgotten {
  readonly directory: string;
  /** Whether everything had been forgotten before. */
  readonly wasEmpty: boolean;
  /** Whether the files of the database are gone; a Reader that runs keeps them, empty. */
  readonly filesRemoved: boolean;
  /** What became of the Readers that run on the database. */
  readonly readers: readonly ReaderAnswer[];
  /** `false` where the system's keyring did not let go of its entry. */
  readonly keyDiscarded: boolean;
  /** Stays: other databases may need it. */
  readonly keyFileLeft: string | undefined;
}

/**
 * Forgets everything, also where the key of the database is lost.
 *
 * @throws ReaderError of the store, whatever else went on: Readers that run were told to drop their keys then
 */
export async function forgetEverything(options: StorageOptions): Promise<ForgottenAll> {
  const { directory, keyFile } = storeOptions(options);
  const readers = await tellReaders(directory, { do: 'lock' });
  requireDatabase(directory);
  const place = keysIn(directory);
  const forgotten = await withLockedStore(options, async (store) => {
    const { hasRoamed } = store.identity();
    const publishers = await store.identity().publishers();
    return { publishers, hasRoamed, overwritten: store.identity().forgetAll() };
  });
  const cacheDirectory = cacheDirectoryFor(options.dataDirectory);
  const cacheForgotten = await forgetCached(cacheDirectory);
  const filesRemoved = readers.length === 0 && !runsOn(directory); // one may have begun meanwhile
  if (filesRemoved) removeFiles(directory, cacheDirectory);
  return {
    ...forgotten,
    directory,
    wasEmpty: place === undefined,
    cacheDirectory,
    cacheForgotten,
    filesRemoved,
    readers,
    keyDiscarded: place === undefined || (await discardKey(place)),
    keyFileLeft: place?.kind === 'key-file' ? keyFile : undefined,
  };
}

function runsOn(directory: string): boolean {
  return announcedReaders(directory).some((reader) => reader.state() !== 'ended');
}

/** Removes the database, and the folders of what was read, where nothing else is in them. */
function removeFiles(directory: string, cacheDirectory: string): void {
  for (const name of DATABASE_FILES) rmSync(join(directory, name), { force: true });
  for (const folder of [...CACHE_FOLDERS.map((name) => join(cacheDirectory, name)), cacheDirectory, directory]) {
    try {
      rmdirSync(folder);
    } catch {
      // something else is in it, or it was never there
    }
  }
}

/** Removes the key of a database that is about to be erased, where it belongs to that alone. */
export async function discardKeyOf(directory: string): Promise<void> {
  if (!hasDatabase(directory)) return;
  const place = keysIn(directory);
  if (place) await discardKey(place);
}

async function withLockedStore<Result>(
  options: StorageOptions,
  work: (store: ReaderStore) => Promise<Result>,
): Promise<Result> {
  const store = ReaderStore.openLocked(storeOptions(options));
  try {
    return await work(store);
  } finally {
    store.close();
  }
}
