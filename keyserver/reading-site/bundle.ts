/**
 * The current publication in one file: everything small that a browser needs before its first page, so that it does not ask for one after the other.
 * `{"/.well-known/wispr/timestamp.json":"…", …}`, texts by URL path. The browser verifies each as if a content host had given it.
 */
import { gzipSync } from 'node:zlib';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { readSettingsFile } from '../../core/publication/kept-settings.ts';
import { listDocuments } from '../../core/publication/listing.ts';
import {
  METADATA_PATH,
  metadataFile,
  ownTargetsOf,
  TIMESTAMP_FILE,
  targetUrlPath,
} from '../../core/publication/names.ts';
import { storeFor } from '../../core/publication/site-publication.ts';
import type { TrustedState } from '../../core/publication/trusted-state.ts';
import type { Provider } from '../publication/provider.ts';
import { readPublication, readRoots } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { ReadPublication } from './publications.ts';

/** Bytes of all lists of a publication that are worth sending to a browser that needs a few of them. */
const LISTS_LENGTH = 131_072;

export class PublicationBundle {
  readonly #state: KeyServerState;
  #made: { readonly of: string; readonly bytes: Buffer } | undefined;
  /** Whose lists were fetched. */
  #listed: TrustedState['snapshot'] | undefined;

  constructor(state: KeyServerState) {
    this.#state = state;
  }

  /** JSON, by gzip. Lists that this server does not have yet are fetched for the next one who asks. */
  async read(provider: Provider, { keeper, store }: ReadPublication): Promise<Buffer> {
    const { database, now } = this.#state;
    await keeper.current().catch(() => undefined);
    const known = readPublication(database);
    const { state } = keeper.publication;
    const files = new Map<string, Uint8Array>();
    for (const [index, root] of (readRoots(database) ?? []).entries())
      files.set(METADATA_PATH + metadataFile('root', index + 1), root);
    if (known) {
      files.set(METADATA_PATH + TIMESTAMP_FILE, known.timestamp);
      files.set(METADATA_PATH + metadataFile('snapshot', known.snapshotVersion), known.snapshot);
    }
    if (known && state?.snapshot.version === known.snapshotVersion) {
      for (const [path, bytes] of await filesBelow(provider, state, storeFor(provider.publisher, store)))
        files.set(path, bytes);
      if (this.#listed !== state.snapshot && lengthOfLists(state) <= LISTS_LENGTH) {
        this.#listed = state.snapshot;
        void readAll(listDocuments(keeper.publication, now(), () => undefined));
      }
    }
    const of = `${known?.version} ${[...files.keys()]}`;
    if (this.#made?.of !== of) this.#made = { of, bytes: encode(files) };
    return this.#made.bytes;
  }
}

/** What the snapshot names, and settings and descriptor, as far as they are at hand. */
async function filesBelow(
  { descriptorBytes }: Provider,
  { snapshot, targets }: TrustedState,
  store: ReturnType<typeof storeFor>,
): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const [role, { version, sha256 }] of snapshot.roles) {
    const bytes = await store.read(role);
    if (bytes && (await hexDigest(bytes)) === sha256) files.set(METADATA_PATH + metadataFile(role, version), bytes);
  }
  const own = ownTargetsOf({
    descriptor: descriptorBytes,
    settings: (await readSettingsFile(store)) ?? new Uint8Array(),
  });
  for (const [target, bytes] of own) {
    const named = targets.target(target)?.sha256;
    if (named === (await hexDigest(bytes))) files.set(targetUrlPath(target, named), bytes);
  }
  return files;
}

function lengthOfLists({ snapshot }: TrustedState): number {
  return [...snapshot.roles.values()].reduce((sum, { length }) => sum + (length ?? Number.POSITIVE_INFINITY), 0);
}

async function readAll(documents: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of documents);
  } catch {
    // Who asks for a document is told why.
  }
}

function encode(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const texts = Array.from(files, ([path, bytes]) => [path, fromUtf8(bytes) ?? ''] as const);
  return gzipSync(JSON.stringify(Object.fromEntries(texts)));
}
