/** Keys of a site without a key server: docs/spec/web-reader.md, "Key files". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { fetchKeys, isStoredInvitation, storeKeys } from '../key-file.ts';
import { type OriginStore, STATE } from '../store.ts';
import { isDue, type MissingKeys, PAGE_COUNTS_FOR, WAITED_FOR, WINDOW_COUNTS_FOR } from './missing-keys.ts';
import { scope } from './scope.ts';

export class FileKeys implements MissingKeys {
  readonly #store: OriginStore;
  #fetching: Promise<boolean> | undefined;

  constructor(store: OriginStore) {
    this.#store = store;
  }

  async forWindow(set: KeyId, to: string): Promise<string | undefined> {
    if (!isDue(await this.#store.asked.find(set), WINDOW_COUNTS_FOR, 0)) return undefined;
    if (await this.#fetch(set)) return undefined;
    return `${scope.wisprSite.keys}#${new URLSearchParams({ to, sets: set })}`;
  }

  async forPage(set: KeyId): Promise<void> {
    if (isDue(await this.#store.asked.find(set), PAGE_COUNTS_FOR, WAITED_FOR)) await this.#fetch(set);
  }

  async forFrame(): Promise<string> {
    return '';
  }

  end(): void {}

  /** @returns whether this browser's invitation still has a file */
  async #fetch(set: KeyId): Promise<boolean> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    });
    const isThere = await this.#fetching;
    await this.#store.asked.put(set, { at: Date.now(), isAnswered: isThere });
    return isThere;
  }

  async #fetchOnce(): Promise<boolean> {
    const kept = await this.#store.state.get(STATE.invitation);
    if (!isStoredInvitation(kept)) return false;
    const keys = await fetchKeys(kept, scope.wisprSite).catch(() => undefined);
    if (keys) await storeKeys(this.#store, keys, []);
    return keys !== undefined;
  }
}
