/** What the content origin keeps, in IndexedDB. Published scripts can use it as the worker can; none can take a key's bytes out of it. */

/** A set key, as a handle: HMAC-SHA-512 under it is what HKDF-Expand takes. */
export interface StoredKey {
  /** Key id. */
  readonly id: string;
  readonly key: CryptoKey;
  /** Seconds since 1970, both inclusive. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface Store {
  readonly keys: {
    put(keys: readonly StoredKey[]): Promise<void>;
    find(id: string): Promise<StoredKey | undefined>;
    clear(): Promise<void>;
  };
  /** The X25519 pair of a bounce under way. */
  readonly pending: { put(pair: CryptoKeyPair): Promise<void>; take(): Promise<CryptoKeyPair | undefined> };
  readonly state: { get(name: string): Promise<unknown>; put(name: string, value: unknown): Promise<void> };
}

const NAME = 'wispr-reader';
const PENDING = 'pending';

/** Opens the store; a new one is empty. @throws DOMException where the browser keeps nothing */
export async function openStore(): Promise<Store> {
  const opening = indexedDB.open(NAME, 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore('keys', { keyPath: 'id' });
    opening.result.createObjectStore('pending');
    opening.result.createObjectStore('state');
  };
  const database = await done(opening);
  const read = (store: string, key: string) => done(database.transaction(store).objectStore(store).get(key));
  const write = async (store: string, change: (objects: IDBObjectStore) => void) => {
    const transaction = database.transaction(store, 'readwrite');
    change(transaction.objectStore(store));
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  };
  return {
    keys: {
      put: (keys) => write('keys', (objects) => keys.forEach((key) => void objects.put(key))),
      find: (id) => read('keys', id),
      clear: () => write('keys', (objects) => void objects.clear()),
    },
    pending: {
      put: (pair) => write('pending', (objects) => void objects.put(pair, PENDING)),
      take: async () => {
        const pair = await read('pending', PENDING);
        await write('pending', (objects) => void objects.delete(PENDING));
        return pair;
      },
    },
    state: {
      get: (name) => read('state', name),
      put: (name, value) => write('state', (all) => void all.put(value, name)),
    },
  };
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
