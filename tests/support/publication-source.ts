/** Source of a publication for a reader in a test: files in memory, with a record of what was asked for, and failures on demand. */
import { type MetadataStore, PublicationClient } from '../../core/publication/client.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { SitePublication, type SiteSource } from '../../core/publication/site-publication.ts';
import { inTurn, type TimestampAnswer } from '../../core/publication/sources.ts';
import type { TestPublication } from './test-publication.ts';

/** Source that stands between a reader and the files of a content host. */
export class MemorySource implements SiteSource {
  files: ReadonlyMap<string, Uint8Array>;
  /** URL paths, in order, of everything that was asked for. */
  readonly requests: string[] = [];
  /** Bytes that were handed over. */
  bytes = 0;
  /** Answers instead of the file; may throw. By URL path. */
  readonly instead = new Map<string, () => Uint8Array | undefined>();
  /** Places that have a timestamp, asked before the content host. */
  readonly keyServers: (() => Promise<Uint8Array | undefined>)[] = [];

  readonly #maxima = new Map<string, number>();

  constructor(files: ReadonlyMap<string, Uint8Array>) {
    this.files = files;
  }

  async metadata(file: string, maximumLength: number): Promise<Uint8Array | undefined> {
    return this.#get(METADATA_PATH + file, maximumLength);
  }

  /** Returns the bound of the last request. */
  maximum(urlPath: string): number | undefined {
    return this.#maxima.get(urlPath);
  }

  timestamps(maximumLength: number, isEnough: () => boolean): AsyncIterable<TimestampAnswer> {
    return inTurn([...this.keyServers, () => this.metadata(TIMESTAMP_FILE, maximumLength)], isEnough);
  }

  async file(urlPath: string, maximumLength: number): Promise<Uint8Array | undefined> {
    return this.#get(urlPath, maximumLength);
  }

  #get(urlPath: string, maximumLength: number): Uint8Array | undefined {
    this.#maxima.set(urlPath, maximumLength);
    this.requests.push(urlPath);
    const instead = this.instead.get(urlPath);
    const bytes = instead ? instead() : this.files.get(urlPath);
    this.bytes += bytes?.length ?? 0;
    return bytes;
  }
}

/** A store in memory. Can fail like one whose machine loses power: no write after the first `writesLeft` happens. */
export class MemoryStore implements MetadataStore {
  readonly kept = new Map<string, Uint8Array>();
  writesLeft = Number.POSITIVE_INFINITY;

  async read(name: string): Promise<Uint8Array | undefined> {
    return this.kept.get(name);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (this.writesLeft-- <= 0) throw new Error('the power failed');
    this.kept.set(name, bytes);
  }
}

/** A reader of a site, with what it reads from and keeps. */
export interface TestReader {
  readonly site: SitePublication;
  readonly source: MemorySource;
  readonly store: MemoryStore;
}

export function readerOf(
  publication: TestPublication,
  store = new MemoryStore(),
  source = new MemorySource(publication.files),
): TestReader {
  return { site: new SitePublication({ rootId: publication.rootId, source, store }), source, store };
}

/** A client of any TUF repository, which asks for nothing of what a bound site has to keep to besides. */
export function clientOf(
  publication: TestPublication,
  store: MetadataStore = new MemoryStore(),
): { readonly client: PublicationClient; readonly source: MemorySource } {
  const source = new MemorySource(publication.files);
  const firstRoot = async () => publication.metadata('root', 1);
  return {
    source,
    client: new PublicationClient({ source, store, verify: verifyEd25519, grace: 0, firstRoot, strict: false }),
  };
}
