/**
 * The bootstrap page of the content origin, which the network host gives for every address: it installs the worker, and loads the page again, which
 * the worker then answers. Behind a first page, which the server opened, a frame does it. Where a browser cannot do this, the page is read as the
 * server decrypts it.
 */
import { BEHIND_PAGE, KEYS_PAGE } from '../../core/site/path.ts';
import { atMost } from '../../reading/at-most.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { installWorker, renewWorker } from '../install-worker.ts';
import { KEYS_ADDRESS, RELOADED } from '../names.ts';
import { openDatabase } from '../store.ts';
import { openBehind } from '../vault-frame.ts';
import { removeEverything, removeWorkers } from './leave.ts';

const WORKER = '/-/worker.js';
/** A window that comes back here so often in that time, with no page of the worker's between, has one that does not answer. */
const MOST_RELOADS = 3;
const RELOADS_COUNT_FOR = 10_000;
/** The longest wait for a worker that is installed, also on a slow line. In milliseconds. */
const PATIENCE = 45_000;
const HOST_PATIENCE = 10_000;
/** The longest wait for an answer of the worker. */
const WORKER_PATIENCE = 5_000;
/** The longest wait for keys, before the worker leads to the vault. */
const KEYS_PATIENCE = 15_000;

const { pathname, search, hash, origin } = location;
const { to: onTheWayTo, reading, leaving } = document.documentElement.dataset;

/** True in a frame behind a page on show. */
const isBehind = pathname === BEHIND_PAGE;
/** Path, query and fragment of the document that the reader is on the way to. */
const wanted = pathname === KEYS_PAGE ? documentTarget(onTheWayTo ?? '', origin) : pathname + search + hash;

setTimeout(giveUp, PATIENCE);
start().catch((error: unknown) => {
  console.error(error);
  giveUp();
});

async function start(): Promise<unknown> {
  if (leaving !== undefined) {
    await removeEverything();
    return location.replace(`${reading}/-/sign-in?left=${leaving}`);
  }
  if (!(await isSupported())) return isBehind ? undefined : location.replace(readHere());
  const isInstalled = (await navigator.serviceWorker.getRegistration('/')) !== undefined;
  // A frame behind a page has time to ask first.
  if (isBehind && !isInstalled && !(await canAskHosts())) return;
  const [worker, canRead] = await Promise.all([installWorker(WORKER), isInstalled || isBehind || canAskHosts()]);
  if (!canRead) {
    await removeWorkers();
    return location.replace(readHere());
  }
  // A public document needs no key: the frame would end, with a device half made, as soon as the page is loaded again.
  const address = await addressOfKeys(worker, isBehind ? '' : (wanted.split('#', 1)[0] ?? ''));
  if (address === undefined || pathname === KEYS_PAGE) await renewWorker();
  if (isBehind) return address && location.replace(address);
  if (address) {
    const haveCome = new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve));
    openBehind(address);
    await atMost(KEYS_PATIENCE, haveCome);
  }
  goOn();
}

/**
 * Asks for the address of the vault at which a frame gets what a document needs.
 *
 * @param target - of the document; empty: of all
 * @returns empty where nothing is needed; `undefined` where the worker does not know this question
 */
function addressOfKeys(worker: ServiceWorker, target: string): Promise<string | undefined> {
  const { port1, port2 } = new MessageChannel();
  worker.postMessage({ [KEYS_ADDRESS]: target }, [port2]);
  return new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    setTimeout(resolve, WORKER_PATIENCE);
  });
}

/** Opens what is wanted, for the worker to answer; a few times at most, where it does not. */
function goOn(): void {
  const now = Date.now();
  const times = (sessionStorage.getItem(RELOADED) ?? '')
    .split(' ')
    .filter((time) => now - Number(time) < RELOADS_COUNT_FOR);
  sessionStorage.setItem(RELOADED, [...times, now].join(' '));
  if (times.length >= MOST_RELOADS) giveUp();
  else if (pathname === KEYS_PAGE) location.replace(wanted);
  else location.reload();
}

/** Tells whether there are service workers, storage, and key pairs of the kinds to which keys are sealed, and with which the vault makes a device. */
async function isSupported(): Promise<boolean> {
  if (!isSecureContext || !('serviceWorker' in navigator)) return false;
  try {
    await openDatabase(() => undefined);
    await crypto.subtle.generateKey('X25519', false, ['deriveBits']);
    await crypto.subtle.generateKey('Ed25519', false, ['sign']);
    return true;
  } catch {
    return false;
  }
}

/** Tells whether a content host lets pages of other origins ask it, which takes a header (CORS). Asks once, before anything is installed. */
async function canAskHosts(): Promise<boolean> {
  // Requests are those of the page's hints, so that the browser asks only once.
  const hosts = document.querySelectorAll<HTMLLinkElement>('link[rel=preload]');
  const ask = ({ href }: HTMLLinkElement) => fetch(href, { signal: AbortSignal.timeout(HOST_PATIENCE) });
  return Promise.any([...hosts].map(ask)).then(
    () => true,
    () => false,
  );
}

/** Shows that it failed, in a window. Other windows may read: the worker goes when the reader says how to go on. */
function giveUp(): void {
  document.documentElement.dataset.state = 'failed';
  lead('#again', wanted);
  lead('#other', readHere());
}

/** Leads on without the worker: the next attempt begins again, and the server's decrypted pages can be reached. */
function lead(selector: string, to: string): void {
  const link = document.querySelector<HTMLAnchorElement>(selector);
  if (!link) return;
  link.href = to;
  link.onclick = async (event) => {
    event.preventDefault();
    const registration = await navigator.serviceWorker?.getRegistration('/');
    await registration?.unregister();
    if (to === pathname + search + hash) location.reload();
    else location.replace(to);
  };
}

/** Returns the address of the document as the server decrypts it. */
function readHere(): string {
  // The first would lead back here without cookies; the second says what is missing.
  return `/-/${navigator.cookieEnabled ? 'plain' : 'begin'}?${new URLSearchParams({ to: wanted })}`;
}
