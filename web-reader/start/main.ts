/**
 * The bootstrap page of the content origin, which the network host gives for every address: it installs the worker, and loads the page again, which
 * the worker then answers. At `/-/keys` it takes keys that came from the vault. Where a browser cannot do this, the page is read as the server
 * decrypts it.
 */
import { KeyError } from '../../core/keys/errors.ts';
import { KEYS_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { installWorker } from '../install-worker.ts';
import { RELOADED } from '../names.ts';
import { openStore } from '../store.ts';
import { type Arrival, acceptKeys } from './arrival.ts';
import { removeEverything } from './leave.ts';

const WORKER = '/-/worker.js';
/** Name in the session of a window: when keys arrived that did not open, and for how long that counts. */
const REFUSED = 'wispr-refused';
const REFUSED_COUNTS_FOR = 60_000;
/** A window that comes back here so often in that time, with no page of the worker's between, has one that does not answer. */
const MOST_RELOADS = 3;
const RELOADS_COUNT_FOR = 10_000;
/** The longest wait for a worker that is installed, also on a slow line. In milliseconds. */
const PATIENCE = 45_000;
const HOST_PATIENCE = 10_000;

const { pathname, search, hash, origin } = location;
const { sealed, key = '', to: onTheWayTo, reading, leaving } = document.documentElement.dataset;

/** Path, query and fragment of the document that the reader is on the way to. */
const wanted = pathname === KEYS_PAGE ? documentTarget(onTheWayTo ?? '', origin) : pathname + search + hash;

setTimeout(giveUp, PATIENCE);
start().catch((error: unknown) => {
  console.error(error);
  giveUp();
});

async function start(): Promise<void> {
  if (leaving !== undefined) {
    await removeEverything();
    return location.replace(`${reading}/-/sign-in?left=1`);
  }
  const isInstalled = (await navigator.serviceWorker?.getRegistration('/')) !== undefined;
  if (!(await isSupported()) || !(isInstalled || (await canAskHosts()))) return location.replace(readHere());
  await installWorker(WORKER);
  if (pathname !== KEYS_PAGE) return loadAgain();
  if (sealed !== undefined) await takeKeys({ sealed, key });
  location.replace(wanted);
}

/** Keys that do not open are passed over once: another window may have brought those that are wanted, or the worker asks again. */
async function takeKeys(arrival: Arrival): Promise<void> {
  try {
    await acceptKeys(await openStore(), arrival, origin);
  } catch (error) {
    const now = Date.now();
    if (!(error instanceof KeyError) || now - Number(sessionStorage.getItem(REFUSED)) < REFUSED_COUNTS_FOR) throw error;
    sessionStorage.setItem(REFUSED, String(now));
  }
}

/** Loads the page again, for the worker to answer; a few times at most, where it does not. */
async function loadAgain(): Promise<void> {
  const now = Date.now();
  const times = (sessionStorage.getItem(RELOADED) ?? '')
    .split(' ')
    .filter((time) => now - Number(time) < RELOADS_COUNT_FOR);
  if (times.length >= MOST_RELOADS) return giveUp();
  sessionStorage.setItem(RELOADED, [...times, now].join(' '));
  location.reload();
}

/** Service workers, storage, and key pairs of the kinds to which keys are sealed, and with which the vault makes a device. */
async function isSupported(): Promise<boolean> {
  if (!isSecureContext || !('serviceWorker' in navigator)) return false;
  try {
    await openStore();
    await crypto.subtle.generateKey('X25519', false, ['deriveBits']);
    await crypto.subtle.generateKey('Ed25519', false, ['sign']);
    return true;
  } catch {
    return false;
  }
}

/** Whether a content host lets pages of other origins ask it, which takes a header (CORS). Asked once, before anything is installed. */
async function canAskHosts(): Promise<boolean> {
  // As the page's hints have it, so that the browser asks only once.
  const hosts = document.querySelectorAll<HTMLLinkElement>('link[rel=preload]');
  const ask = ({ href }: HTMLLinkElement) => fetch(href, { signal: AbortSignal.timeout(HOST_PATIENCE) });
  return Promise.any([...hosts].map(ask)).then(
    () => true,
    () => false,
  );
}

/** Shows that it failed. Other windows may read: the worker goes when the reader says how to go on. */
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

/** Where the document is read as the server decrypts it. */
function readHere(): string {
  // Without cookies, the first would lead back here; the second says what is missing.
  return `/-/${navigator.cookieEnabled ? 'plain' : 'begin'}?${new URLSearchParams({ to: wanted })}`;
}
