import { type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { replaceFile } from '../keys/file-update.ts';
import type { KeyStoreContents, NamedSet, OpenKeyStore } from '../keys/key-store.ts';
import type { Workspace } from '../workspace/workspace.ts';

/** The key store of a run: what it holds changes only once it is on the disk. */
export class RunKeys {
  readonly store: OpenKeyStore;
  readonly #file: string;
  #contents: KeyStoreContents;
  #ids = new Map<string, KeyId>();

  private constructor(store: OpenKeyStore, { keyStore }: Workspace) {
    this.store = store;
    this.#file = keyStore;
    this.#contents = store.contents;
  }

  static async of(store: OpenKeyStore, workspace: Workspace): Promise<RunKeys> {
    const keys = new RunKeys(store, workspace);
    await keys.#nameAll();
    return keys;
  }

  get contents(): KeyStoreContents {
    return this.#contents;
  }

  idOf(name: string): KeyId | undefined {
    return this.#ids.get(name);
  }

  keyOf(name: string): KeyId {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`the set ${name} of the plan has no key`);
    return id;
  }

  sets(): NamedSet[] {
    return Array.from(this.#contents.sets, ([name, key]) => ({ name, key, id: this.#ids.get(name) ?? '' }));
  }

  /** Writes changed contents. @throws PublishError `output-failed` */
  async change(contents: KeyStoreContents): Promise<void> {
    await replaceFile(this.#file, await this.store.seal(contents));
    this.#contents = contents;
    await this.#nameAll();
  }

  async #nameAll(): Promise<void> {
    this.#ids = new Map((await nameSets(this.#contents.sets)).map(({ name, id }) => [name, id]));
  }
}

export function nameSets(sets: Iterable<readonly [name: string, key: Uint8Array]>): Promise<NamedSet[]> {
  return Promise.all(Array.from(sets, async ([name, key]) => ({ name, key, id: await keyIdOf('set', key) })));
}
