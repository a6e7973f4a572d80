/** Installs the worker of an origin. */

/**
 * Resolves when the worker is active. Those that the site had before go: they would answer in its place.
 *
 * @param script - path, with a file name that no other worker has
 * @throws TypeError, DOMException, where it cannot be
 */
export async function installWorker(script: string): Promise<ServiceWorker> {
  const { serviceWorker: workers } = navigator;
  for (const each of await workers.getRegistrations())
    if (new URL(each.scope).pathname !== '/') await each.unregister();
  const registration = await workers.register(script, { scope: '/', updateViaCache: 'none' });
  return new Promise((resolve) => {
    const look = () => registration.active?.scriptURL.endsWith(script) && resolve(registration.active);
    (registration.installing ?? registration.waiting)?.addEventListener('statechange', look);
    look();
  });
}
