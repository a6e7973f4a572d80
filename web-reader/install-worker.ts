/** Installs the worker of an origin. */
import { TAKE_OVER } from './names.ts';

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

/** Has a newer version take over at once, where there is one: the worker at hand does not do what this page needs. */
export async function renewWorker(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration('/');
  await registration?.update();
  const next = registration?.installing ?? registration?.waiting;
  if (!next) return;
  await new Promise<void>((resolve) => {
    const look = () => {
      if (next.state === 'installed') next.postMessage(TAKE_OVER);
      else if (next.state !== 'installing') resolve();
    };
    next.addEventListener('statechange', look);
    look();
  });
}
