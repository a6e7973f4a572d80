/** Database of the vault, in IndexedDB of its own origin, where no published script runs. */
const NAME = 'wispr-vault';
const OBJECTS = 'vault';

/** Reads a value of the vault; `undefined` where there is none. @throws DOMException where the browser keeps nothing */
export async function readVault(name: string): Promise<unknown> {
  return withObjects('readonly', (objects) => objects.get(name));
}

export async function writeVault(name: string, value: unknown): Promise<void> {
  await withObjects('readwrite', (objects) => objects.put(value, name));
}

async function withObjects<Result>(
  mode: IDBTransactionMode,
  work: (objects: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const opening = indexedDB.open(NAME, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore(OBJECTS);
  const database = await done(opening);
  try {
    return await done(work(database.transaction(OBJECTS, mode).objectStore(OBJECTS)));
  } finally {
    database.close();
  }
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
