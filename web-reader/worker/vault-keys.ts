/** Asks the vault for keys that are missing, for windows and for what their pages load: docs/spec/web-reader.md, "The bounce", step 1. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { MAXIMUM_SETS_WANTED } from '../../core/keys/document-keys.ts';
import { x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { atMost } from '../../reading/at-most.ts';
import { addressOfVault } from '../bounce.ts';
import { storablePair } from '../pair.ts';
import { type OriginStore, STATE } from '../store.ts';
import { isDue, isWithin, type MissingKeys, PAGE_COUNTS_FOR, WAITED_FOR, WINDOW_COUNTS_FOR } from './missing-keys.ts';
import { scope, type WorkerWindow } from './scope.ts';
import { SITE_FILE } from './site.ts';

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

export class VaultKeys implements MissingKeys {
  readonly #store: OriginStore;
  #asking: Asking | undefined;
  /** Time of a question that was never answered; in milliseconds since 1970. */
  #unanswered = 0;
  #arrived = () => {};

  constructor(store: OriginStore) {
    this.#store = store;
  }

  async forWindow(set: KeyId, to: string): Promise<string | undefined> {
    const asked = await this.#store.asked.find(set);
    return asked?.isSilent || isDue(asked, WINDOW_COUNTS_FOR, 0) ? this.#bounce(to, [set]) : undefined;
  }

  /** Asks by a frame of the vault in that page. */
  async forPage(set: KeyId, clientId: string): Promise<void> {
    const { asked, state } = this.#store;
    if (!isDue(await asked.find(set), PAGE_COUNTS_FOR, WAITED_FOR)) return;
    if (isWithin(WAITED_FOR, await state.get(STATE.nobody)) || isWithin(WAITED_FOR, this.#unanswered)) return;
    const before = this.#asking;
    // A window that goes elsewhere takes the frame along.
    if (before?.window && !(await scope.clients.get(before.window)) && this.#asking === before)
      this.#asking = undefined;
    this.#asking ??= this.#askFor(set, clientId);
    this.#asking.sets.add(set);
    return this.#asking.ended;
  }

  end(isAnswered: boolean): void {
    if (!isAnswered) this.#unanswered = Date.now();
    this.#arrived();
  }

  forFrame(wanted: readonly KeyId[]): Promise<string> {
    return this.#bounce('/', wanted, true);
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
  async #bounce(to: string, wanted: readonly KeyId[], isSilent = false): Promise<string> {
    const { pair, stored } = await storablePair();
    const key = await x25519PublicKey(pair);
    const sets = wanted.slice(0, MAXIMUM_SETS_WANTED);
    await this.#store.pending.put(toBase64url(key), { pair: stored, sets, begun: Date.now(), isSilent });
    return addressOfVault(scope.wisprSite.reading ?? '', { key, sets, to }, isSilent);
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
