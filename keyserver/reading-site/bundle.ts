/**
 * The current publication in one file: everything small that a browser needs before its first page, so that it does not ask for one after the other.
 * `{"/.well-known/wispr/timestamp.json":"…", …}`, texts by URL path. The browser verifies each as if a content host had given it.
 */
import { gzipSync } from 'node:zlib';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { isBinName } from '../../core/publication/bins.ts';
import type { MetadataStore } from '../../core/publication/client.ts';
import { listDocuments } from '../../core/publication/listing.ts';
import {
  METADATA_PATH,
  metadataFile,
  ownTargetsOf,
  TIMESTAMP_FILE,
  targetUrlPath,
} from '../../core/publication/names.ts';
import { storeFor } from '../../core/publication/site-publication.ts';
import { readSettingsFile } from '../../core/publication/stored-settings.ts';
import { IN_USE, type TrustedState } from '../../core/publication/trusted-state.ts';
import { atMost } from '../../reading/at-most.ts';
import type { PublicationKeeper } from '../../reading/publication-keeper.ts';
import type { Provider } from '../publication/provider.ts';
import { readPublication, readRoots } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';

/** A publication, and where what was verified of it is kept. */
export interface BundledPublication {
  readonly keeper: PublicationKeeper;
  readonly store: MetadataStore;
}

/** Bytes of all lists of a publication that are worth sending to a browser that needs a few of them. */
const LISTS_LENGTH = 131_072;
/** Milliseconds for which the first one who asks after a publication waits for its lists. */
const LISTS_PATIENCE = 1_000;

export class PublicationBundle {
  readonly #state: KeyServerState;
  #made: { readonly of: string; readonly bytes: Buffer } | undefined;
  #lists: { readonly of: TrustedState['snapshot']; readonly here: Promise<void> } | undefined;

  constructor(state: KeyServerState) {
    this.#state = state;
  }

  /** JSON, by gzip. Lists that this server does not have yet are fetched, and waited for a little. */
  async read(provider: Provider, { keeper, store }: BundledPublication): Promise<Buffer> {
    const { database, now } = this.#state;
    await keeper.current().catch(() => undefined);
    const known = (await readPublication(database))?.version ?? 0;
    // Handed over a moment ago.
    if (known > (keeper.publication.state?.timestamp.version ?? 0)) await keeper.current(true).catch(() => undefined);
    const roots = (await readRoots(database)) ?? [];
    const files = new Map(roots.map((root, index) => [METADATA_PATH + metadataFile('root', index + 1), root]));
    const { state } = keeper.publication;
    // Keys that these roots do not name have signed nothing for a browser that has only these.
    if (state?.root.version === roots.length) {
      if (areSmall(state)) {
        if (this.#lists?.of !== state.snapshot)
          this.#lists = {
            of: state.snapshot,
            here: readAll(listDocuments(keeper.publication, now(), () => undefined)),
          };
        await atMost(LISTS_PATIENCE, this.#lists.here);
      }
      for (const [path, bytes] of await filesOf(provider, state, storeFor(provider.publisher, store)))
        files.set(path, bytes);
    }
    const of = `${state?.timestamp.version} ${[...files.keys()]}`;
    if (this.#made?.of !== of) this.#made = { of, bytes: encode(files) };
    return this.#made.bytes;
  }
}

/** Finds the files of a state, as far as they are at hand. Bins are left out where the lists are long: of many, a browser needs few. */
async function filesOf(
  { descriptorBytes }: Provider,
  { snapshot, targets }: TrustedState,
  store: MetadataStore,
): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const put = (path: string, bytes: Uint8Array | undefined) => bytes && files.set(path, bytes);
  put(METADATA_PATH + TIMESTAMP_FILE, await store.read(IN_USE.timestamp));
  put(METADATA_PATH + metadataFile('snapshot', snapshot.version), await store.read(IN_USE.snapshot));
  for (const [role, { version, sha256 }] of snapshot.roles) {
    if (isBinName(role) && !areSmall({ snapshot })) continue;
    const bytes = await store.read(role);
    if (bytes && (await hexDigest(bytes)) === sha256) put(METADATA_PATH + metadataFile(role, version), bytes);
  }
  const settings = (await readSettingsFile(store)) ?? new Uint8Array();
  for (const [target, bytes] of ownTargetsOf({ descriptor: descriptorBytes, settings })) {
    const named = targets.target(target)?.sha256;
    if (named === (await hexDigest(bytes))) put(targetUrlPath(target, named), bytes);
  }
  return files;
}

function areSmall({ snapshot }: Pick<TrustedState, 'snapshot'>): boolean {
  const lengths = Array.from(snapshot.roles.values(), ({ length }) => length ?? Number.POSITIVE_INFINITY);
  return lengths.reduce((sum, length) => sum + length, 0) <= LISTS_LENGTH;
}

async function readAll(documents: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of documents);
}

function encode(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const texts = Array.from(files, ([path, bytes]) => [path, fromUtf8(bytes) ?? ''] as const);
  return gzipSync(JSON.stringify(Object.fromEntries(texts)));
}
