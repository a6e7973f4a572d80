/** Removes what this origin keeps in the browser, where the browser did not do so at `Clear-Site-Data`: WebKitGTK does not. */

/** Does what can be done; a part that fails keeps no other. */
export async function removeEverything(): Promise<void> {
  for (const storage of [() => localStorage.clear(), () => sessionStorage.clear()]) attempt(storage);
  await Promise.allSettled([removeWorkers(), removeCaches(), removeDatabases()]);
}

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // The browser has none for this page.
  }
}

export async function removeWorkers(): Promise<void> {
  for (const registration of await navigator.serviceWorker.getRegistrations()) await registration.unregister();
}

async function removeCaches(): Promise<void> {
  for (const name of await caches.keys()) await caches.delete(name);
}

async function removeDatabases(): Promise<void> {
  await Promise.all((await indexedDB.databases()).map(({ name = '' }) => removeDatabase(name)));
}

/** Deletes a database, or has it go when a window that holds it open closes. */
function removeDatabase(name: string): Promise<void> {
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = request.onerror = request.onblocked = () => resolve();
  });
}
