/** Asks for keys that are missing, for windows and for what their pages load: docs/spec/web-reader.md, "The bounce", step 1, and "Key files". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { MAXIMUM_SETS_WANTED } from '../../core/keys/document-keys.ts';
import { x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { READING_SITE_PAGES } from '../../core/site/path.ts';
import { atMost } from '../../reading/at-most.ts';
import { addressOfVault } from '../bounce.ts';
import { fetchKeys, isStoredInvitation, storeKeys } from '../key-file.ts';
import { PLACE } from '../names.ts';
import { storablePair } from '../pair.ts';
import { type Asked, type OriginStore, STATE } from '../store.ts';
import { scope, type WorkerWindow } from './scope.ts';
import { SITE_FILE } from './site.ts';

/** Milliseconds: for which an answer counts for windows, and for what pages load; and for which one that never came is waited for. */
const WINDOW_COUNTS_FOR = 30_000;
const PAGE_COUNTS_FOR = 3_600_000;
const WAITED_FOR = 300_000;
/** Milliseconds in which what a page loads is gathered, to be asked for at once. */
const GATHERING = 50;
/** Times that the window of a page is looked for. */
const LOOKS = 10;
/** The longest wait for a page to say where it is: one without scripts never does. */
const PAGE_PATIENCE = 500;
/** The longest wait for the vault, before a page that is on show is led there. */
const VAULT_PATIENCE = 5_000;

/** Facts of a page's request about the window that it is for. */
export type PageRequest = Pick<Request, 'referrer'> & { readonly clientId: string };

export class MissingKeys {
  readonly #store: OriginStore;
  /** Sets that a page waits for, by its window. */
  readonly #leading = new Map<string, { readonly sets: Set<KeyId>; readonly left: Promise<void> }>();
  #fetching: Promise<boolean> | undefined;

  constructor(store: OriginStore) {
    this.#store = store;
  }

  /**
   * Asks for the key of a document that a window opens.
   *
   * @param to - path, query and fragment
   * @returns where to lead the window; `undefined` where the key arrived, or was asked for a moment ago
   */
  async forWindow(set: KeyId, to: string): Promise<string | undefined> {
    const asked = await this.#store.asked.find(set);
    if (!asked?.isSilent && !isDue(asked, WINDOW_COUNTS_FOR, 0)) return undefined;
    const { keys, reading = '' } = scope.wisprSite;
    if (!keys) return this.#bounceTo(reading, to, [set]);
    return (await this.#fetchFile(set)) ? undefined : `${keys}#${new URLSearchParams({ to, sets: set })}`;
  }

  /** Asks for the key of what a page loads. Its window is led to the vault and back, in silence, and loads the page again: the vault is in no frame. */
  async forPage(set: KeyId, request: PageRequest): Promise<void> {
    const { asked, state } = this.#store;
    if (!isDue(await asked.find(set), PAGE_COUNTS_FOR, WAITED_FOR)) return;
    if (isWithin(WAITED_FOR, await state.get(STATE.nobody))) return;
    const { keys } = scope.wisprSite;
    if (keys) return void (await this.#fetchFile(set));
    let window: WorkerWindow | undefined;
    // WebKit lists a window late, and that which it was before.
    for (let times = 0; !window && times < LOOKS; times++) {
      await new Promise((resolve) => setTimeout(resolve, GATHERING));
      window = await windowOf(request);
    }
    if (!window) return;
    const waiting = this.#leading.get(window.id);
    if (waiting) {
      waiting.sets.add(set);
      return waiting.left;
    }
    const sets = new Set([set]);
    const left = this.#lead(window, sets).finally(() => this.#leading.delete(window.id));
    this.#leading.set(window.id, { sets, left });
    return left;
  }

  /** Where a frame behind a page gets all keys that the reader may have: nothing is shown there. */
  forFrame(): Promise<string> {
    return this.#bounceTo(scope.wisprSite.reading ?? '', '/', [], true);
  }

  async #lead(window: WorkerWindow, sets: ReadonlySet<KeyId>): Promise<void> {
    const { reading = '' } = scope.wisprSite;
    if (!(await isReachable())) return;
    const place = await placeOf(window);
    if (!place) return;
    const address = await this.#bounceTo(reading, place, [...sets], true);
    const at = Date.now();
    for (const set of sets) await this.#store.asked.put(set, { at, isAnswered: false });
    await atMost(VAULT_PATIENCE, window.navigate(address));
  }

  /** @throws DOMException `NotSupportedError` where the browser has no X25519 */
  async #bounceTo(vault: string, to: string, wanted: readonly KeyId[], isSilent = false): Promise<string> {
    const { pair, stored } = await storablePair();
    const key = await x25519PublicKey(pair);
    const sets = wanted.slice(0, MAXIMUM_SETS_WANTED);
    await this.#store.pending.put(toBase64url(key), { pair: stored, sets, begun: Date.now(), isSilent });
    return addressOfVault(vault, { key, sets, to }, isSilent);
  }

  /** @returns whether this browser's invitation still has a file */
  async #fetchFile(set: KeyId): Promise<boolean> {
    this.#fetching ??= this.#fetchFileOnce().finally(() => {
      this.#fetching = undefined;
    });
    const isThere = await this.#fetching;
    await this.#store.asked.put(set, { at: Date.now(), isAnswered: isThere });
    return isThere;
  }

  async #fetchFileOnce(): Promise<boolean> {
    const kept = await this.#store.state.get(STATE.invitation);
    if (!isStoredInvitation(kept)) return false;
    const keys = await fetchKeys(kept, scope.wisprSite).catch(() => undefined);
    if (keys) await storeKeys(this.#store, keys, []);
    return keys !== undefined;
  }
}

/**
 * Whether the key server answers: a page is not left for what the browser would say of an address that does not. It is asked here, for its answers at
 * the vault are for the vault's own pages.
 */
function isReachable(): Promise<boolean> {
  const asking = fetch(SITE_FILE, { cache: 'no-store', signal: AbortSignal.timeout(VAULT_PATIENCE) });
  return asking.then(
    ({ ok }) => ok,
    () => false,
  );
}

function isDue(asked: Asked | undefined, answered: number, waited: number): boolean {
  return !isWithin(asked?.isAnswered ? answered : waited, asked?.at);
}

function isWithin(milliseconds: number, at: unknown): boolean {
  const since = Date.now() - Number(at ?? 0);
  return since >= 0 && since < milliseconds;
}

/**
 * Path, query and fragment of what a window shows: a page that has changed its address since it was loaded says so itself, by the script in front of it.
 *
 * @returns empty where its reader has typed something
 */
async function placeOf(window: WorkerWindow): Promise<string> {
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise<unknown>((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    setTimeout(resolve, PAGE_PATIENCE);
  });
  window.postMessage(PLACE, [port2]);
  const said = await answered;
  const { pathname, search, hash } = new URL(window.url);
  return typeof said === 'string' ? said : pathname + search + hash;
}

/** The window that shows the page. Of a frame or a worker, browsers do not say: the one that refers to it, or the only one. */
async function windowOf({ clientId, referrer }: PageRequest): Promise<WorkerWindow | undefined> {
  const all = await scope.clients.matchAll({ type: 'window' });
  const windows = all.filter(
    ({ frameType, url }) =>
      frameType === 'top-level' && !url.startsWith(`${scope.location.origin}${READING_SITE_PAGES}/`),
  );
  return (
    windows.find(({ id }) => id === clientId) ??
    windows.find(({ url }) => url.split('#')[0] === referrer) ??
    (windows.length === 1 ? windows[0] : undefined)
  );
}
