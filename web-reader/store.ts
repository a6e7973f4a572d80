/**
 * Store of the content origin in the browser, in IndexedDB. Published scripts run at this origin and can reach all of it: so keys are
 * handles whose bytes do not come out, and readers of all other values check them again.
 */
import type { KeyId } from '../core/crypto/key-id.ts';
import type { DocumentKey } from '../core/keys/document-keys.ts';
import { macUnder } from '../core/primitives/webcrypto-symmetric.ts';
import type { StoredPair } from './pair.ts';

/** A set key. Times in seconds since 1970, both inclusive. */
export interface StoredKey {
  readonly id: string;
  /** HMAC with SHA-512, not extractable, for `sign`. */
  readonly key: CryptoKey;
  readonly notBefore: number;
  readonly notAfter: number;
  /** Title of its set. */
  readonly title?: string | undefined;
}

export interface OriginStore {
  /** Set keys, by their ids. */
  readonly keys: {
    put(keys: readonly StoredKey[]): Promise<void>;
    find(id: string): Promise<StoredKey | undefined>;
  };
  /** Bounces that are under way, each window's its own, by their public keys in base64url. Each is used once, within a day. */
  readonly pending: {
    put(publicKey: string, bounce: PendingBounce): Promise<void>;
    consume(publicKey: string): Promise<PendingBounce | undefined>;
  };
  /** Outcomes of asking for the key of a set, by the id of the set. */
  readonly asked: {
    put(set: KeyId, asked: Asked): Promise<void>;
    find(set: KeyId): Promise<Asked | undefined>;
  };
  /** Metadata that are trusted, and what {@link STATE} names. Values are what structured cloning takes. */
  readonly state: {
    get(name: string): Promise<unknown>;
    put(name: string, value: unknown): Promise<void>;
  };
}

export interface PendingBounce {
  readonly pair: StoredPair;
  /** Sets that are wanted. */
  readonly sets: readonly KeyId[];
  /** Time when it began: milliseconds since 1970. */
  readonly begun: number;
  /** True where it asks the reader for nothing. */
  readonly isSilent: boolean;
}

/** Scripts that are published can write here: it chooses words, and when a key is asked for again. */
export interface Asked {
  /** Milliseconds since 1970: when the key was asked for, or the answer came. */
  readonly at: number;
  readonly isAnswered: boolean;
  /** True where nobody was asked to sign in. */
  readonly isSilent?: boolean;
  /** Reason why there is no key, as in docs/spec/keys.md section 8. */
  readonly reason?: string | undefined;
}

/** Names in {@link OriginStore.state}. */
export const STATE = {
  /** Origins of the content hosts, as `/-/site.json` said last. */
  content: 'content',
  /** `{ snapshot, timestamp }`: the newest publication that the vault knows. Nothing older is shown. */
  pair: 'vault-pair',
  /** The descriptor that the publication names, in bytes. */
  descriptor: 'descriptor',
  /** Invitation with which keys are fetched without a key server, web-reader/key-file.ts. */
  invitation: 'invitation',
  /** Times at which a newer publication was last looked for, and a page last said that there was none; in milliseconds since 1970. */
  checked: 'checked',
  noticed: 'noticed',
  /** Time at which a bounce found that nobody is signed in; in milliseconds since 1970, 0 if the last one found somebody. */
  nobody: 'nobody',
  /** Time at which keys arrived that did not open; in milliseconds since 1970. */
  refused: 'refused',
  /** Issues that are kept on purpose: worker/issues.ts. */
  issues: 'issues',
} as const;

/** A set key as it is kept: its bytes do not come out any more. */
export async function handleOf({ id, key, notBefore, notAfter, title }: DocumentKey): Promise<StoredKey> {
  return { id, key: await importHandle(key), notBefore, notAfter, title };
}

/** A key of HMAC with SHA-512 that is not extractable. */
export function importHandle(key: Uint8Array): Promise<CryptoKey> {
  const bytes = key as Uint8Array<ArrayBuffer>;
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-512' }, false, ['sign']);
}

/** HMAC under a key that the browser holds. */
export function macOf(key: CryptoKey): (data: Uint8Array) => Promise<Uint8Array> {
  return (data) => macUnder(key, data);
}

const DATABASE = 'wispr';
const VERSION = 1;
const TABLES = ['keys', 'pending', 'state'] as const;
/** Milliseconds in which a bounce has to end: a reader may have to sign in on the way. */
const BOUNCE_LIFETIME = 86_400_000;
/** Leads the names of {@link OriginStore.asked} in the table of states. */
const ASKED = 'asked ';

type Table = (typeof TABLES)[number];

/** Opens the store of this origin. A connection that the browser closes, as it does when storage is cleared, is opened again. */
export async function openStore(): Promise<OriginStore> {
  let connection: Promise<IDBDatabase> | undefined;
  const connect = () => {
    connection ??= openDatabase(() => {
      connection = undefined;
    });
    return connection;
  };
  const within = async <Result>(
    table: Table,
    mode: IDBTransactionMode,
    work: (rows: IDBObjectStore) => IDBRequest<Result> | undefined,
  ): Promise<Result | undefined> => {
    const transaction = (await connect()).transaction(table, mode);
    const request = work(transaction.objectStore(table));
    await ended(transaction);
    return request?.result;
  };
  await connect();
  return {
    keys: {
      put: (keys) => within<undefined>('keys', 'readwrite', (rows) => void keys.map((key) => rows.put(key, key.id))),
      find: (id) => within<StoredKey | undefined>('keys', 'readonly', (rows) => rows.get(id)),
    },
    pending: {
      // Names begin with the time, so that no row has to be read: browsers are slow to read keys that they keep.
      put: (publicKey, bounce) =>
        within<undefined>('pending', 'readwrite', (rows) => {
          rows.delete(IDBKeyRange.upperBound(String(bounce.begun - BOUNCE_LIFETIME)));
          rows.put(bounce, `${bounce.begun} ${publicKey}`);
        }),
      consume: async (publicKey) => {
        const names = (await within('pending', 'readonly', (rows) => rows.getAllKeys())) ?? [];
        const name = names.find((each) => String(each).endsWith(` ${publicKey}`));
        if (name === undefined) return undefined;
        return within<PendingBounce | undefined>('pending', 'readwrite', (rows) => {
          const request = rows.get(name);
          rows.delete(name);
          return request;
        });
      },
    },
    asked: {
      put: (set, asked) => within<undefined>('state', 'readwrite', (rows) => void rows.put(asked, ASKED + set)),
      find: (set) => within<Asked | undefined>('state', 'readonly', (rows) => rows.get(ASKED + set)),
    },
    state: {
      get: (name) => within<unknown>('state', 'readonly', (rows) => rows.get(name)),
      put: (name, value) => within<undefined>('state', 'readwrite', (rows) => void rows.put(value, name)),
    },
  };
}

/**
 * Opens the database. A version that this program does not make was put there by a published script: that database goes.
 *
 * @param closed - called when the connection is of no use any more
 * @throws DOMException where the browser keeps nothing
 */
export async function openDatabase(closed: () => void): Promise<IDBDatabase> {
  try {
    return await openVersion(closed);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'VersionError')) throw error;
    indexedDB.deleteDatabase(DATABASE); // requests that follow wait for it
    return openVersion(closed);
  }
}

function openVersion(closed: () => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, VERSION);
    request.onupgradeneeded = () => {
      for (const table of TABLES) request.result.createObjectStore(table);
    };
    request.onerror = () => {
      closed();
      reject(request.error);
    };
    request.onsuccess = () => {
      const database = request.result;
      database.onclose = closed;
      database.onversionchange = () => {
        database.close(); // closed, or the other side would wait for this one
        closed();
      };
      resolve(database);
    };
  });
}

function ended(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('the browser stopped writing'));
  });
}
