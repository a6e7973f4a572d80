/** Asks for keys that are missing, for windows and for what their pages load: docs/spec/web-reader.md, "The bounce", step 1, and "Key files". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { MAXIMUM_SETS_WANTED } from '../../core/keys/document-keys.ts';
import { x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { atMost } from '../../reading/at-most.ts';
import { addressOfVault } from '../bounce.ts';
import { fetchKeys, isStoredInvitation, storeKeys } from '../key-file.ts';
import { storablePair } from '../pair.ts';
import { type Asked, type OriginStore, STATE } from '../store.ts';
import { scope, type WorkerWindow } from './scope.ts';
import { SITE_FILE } from './site.ts';

/** Milliseconds: for which an answer counts for windows, and for what pages load; and for which one that never came is waited for. */
const WINDOW_COUNTS_FOR = 30_000;
const PAGE_COUNTS_FOR = 3_600_000;
const WAITED_FOR = 300_000;
/** Milliseconds in which what pages load is gathered, to be asked for at once; also between two looks for a window. */
const GATHERING = 50;
/** Times that a window is looked for. */
const LOOKS = 10;
/** The longest wait for the vault, where the key server answers. */
const VAULT_PATIENCE = 30_000;
/** The longest wait for the key server. */
const SERVER_PATIENCE = 10_000;

/** Question of pages for keys that they lack. */
interface Asking {
  readonly sets: Set<KeyId>;
  readonly ended: Promise<void>;
  /** Id of the window that has the frame, once that is known. */
  window?: string;
}

export class MissingKeys {
  readonly #store: OriginStore;
  #asking: Asking | undefined;
  /** Time of a question that was never answered; in milliseconds since 1970. */
  #unanswered = 0;
  #arrived = () => {};
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

  /** Asks for the key of what a page loads, by a frame of the vault in that page. */
  async forPage(set: KeyId, clientId: string): Promise<void> {
    const { asked, state } = this.#store;
    if (!isDue(await asked.find(set), PAGE_COUNTS_FOR, WAITED_FOR)) return;
    if (isWithin(WAITED_FOR, await state.get(STATE.nobody))) return;
    const { keys } = scope.wisprSite;
    if (keys) return void (await this.#fetchFile(set));
    if (isWithin(WAITED_FOR, this.#unanswered)) return;
    const before = this.#asking;
    // A window that goes elsewhere takes the frame along.
    if (before?.window && !(await scope.clients.get(before.window)) && this.#asking === before)
      this.#asking = undefined;
    this.#asking ??= this.#askFor(set, clientId);
    this.#asking.sets.add(set);
    return this.#asking.ended;
  }

  /** Ends the wait of pages. @param isAnswered - false: the vault refuses to say anything */
  end(isAnswered: boolean): void {
    if (!isAnswered) this.#unanswered = Date.now();
    this.#arrived();
  }

  /** Makes the address at which a frame gets keys, those that are wanted first, and nothing is shown. */
  forFrame(wanted: readonly KeyId[]): Promise<string> {
    return this.#bounceTo(scope.wisprSite.reading ?? '', '/', wanted, true);
  }

  #askFor(set: KeyId, clientId: string): Asking {
    const sets = new Set([set]);
    const found = (window: string) => {
      asking.window = window;
    };
    const ended = this.#askBehind(sets, clientId, found).finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    const asking: Asking = { sets, ended };
    return asking;
  }

  async #askBehind(sets: ReadonlySet<KeyId>, clientId: string, found: (window: string) => void): Promise<void> {
    let window: WorkerWindow | undefined;
    // WebKit lists a window late.
    for (let times = 0; !window && times < LOOKS; times++) {
      await new Promise((resolve) => setTimeout(resolve, GATHERING));
      const all = await scope.clients.matchAll({ type: 'window' });
      const windows = all.filter(({ frameType }) => frameType === 'top-level');
      window = windows.find(({ id }) => id === clientId) ?? windows[0];
    }
    if (!window) return;
    found(window.id);
    const arrival = new Promise<void>((resolve) => {
      this.#arrived = resolve;
    });
    void isReachable().then((isThere) => isThere || this.#arrived());
    window.postMessage(await this.forFrame([...sets]));
    if ((await atMost(VAULT_PATIENCE, arrival)) && (await scope.clients.get(window.id))) this.#unanswered = Date.now();
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

/** Tells whether the key server answers: a frame says nothing of an address that does not. */
function isReachable(): Promise<boolean> {
  const asking = fetch(SITE_FILE, { cache: 'no-store', signal: AbortSignal.timeout(SERVER_PATIENCE) });
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
