/** The payload of one document in the Reader: read and kept as every reader does it, opened on threads, with memory that is used again. */
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { isEncrypted } from '../../core/object/header.ts';
import { releaseIfAlone, releaseMemory } from '../../core/primitives/release-memory.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { type DocumentSupply, type ObjectStore, Payload, type PayloadBytes } from '../../reading/payload.ts';
import type { Upstream } from '../network/upstream.ts';
import type { HostHealth } from '../site/host-health.ts';
import type { ObjectCache } from './cache/object-cache.ts';
import type { CacheWriter } from './cache/object-writer.ts';
import type { ContentSource } from './content-source.ts';
import type { BlockOpener } from './opening/block-opener.ts';
import type { OpenedRuns } from './opening/opened-runs.ts';
import { ThreadedBlocks } from './opening/threaded-blocks.ts';

/** Dependencies for reading documents, shared by all sites. */
export interface ContentAccess {
  readonly upstream: Upstream;
  readonly health: HostHealth;
  readonly cache: ObjectCache;
  readonly opener: BlockOpener;
}

/** Requested document and its sources. */
export interface ReaderDocument extends Pick<ContentAccess, 'cache' | 'opener'> {
  readonly site: string;
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly source: ContentSource;
  /** A sync wants it to stay: reading waits for the disk. */
  readonly synced?: boolean;
}

/** Where the Reader has a document from: its cache, then the content hosts. */
export class ReaderSupply implements DocumentSupply {
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly store: ObjectStore;
  readonly ask: DocumentSupply['ask'];
  readonly failed: DocumentSupply['failed'];
  readonly payload: DocumentSupply['payload'];
  readonly release: DocumentSupply['release'];
  #writer: CacheWriter | undefined;

  constructor({ site, path, entry, source, cache, opener, synced }: ReaderDocument) {
    this.path = path;
    this.entry = entry;
    this.store = {
      find: () => {
        const stored = cache.find(site, entry.head);
        if (stored) source.retain(stored);
        return stored;
      },
      drop: () => cache.drop(site, entry.head),
      begin: (length) => {
        this.#writer = cache.begin(site, entry.head, length, synced);
        return this.#writer;
      },
    };
    this.ask = (work, passedOver) => source.ask(work, passedOver);
    this.failed = (attempt, error) => source.failed(attempt, error);
    this.payload = (reader, from, end) => new ReaderPayload(this, opener, () => this.#writer, reader, from, end);
    this.release = () => source.release();
  }

  /** Resolves when nothing is being written any more: whether the whole is there. */
  async kept(): Promise<boolean> {
    return (await this.#writer?.settled()) ?? false;
  }
}

class ReaderPayload extends Payload {
  readonly #threaded: ThreadedBlocks;

  constructor(
    supply: DocumentSupply,
    opener: BlockOpener,
    writer: () => CacheWriter | undefined,
    reader: DocumentReader,
    from: PayloadBytes,
    end?: number,
  ) {
    super(supply, reader, from, end);
    this.#threaded = new ThreadedBlocks(this, opener, writer);
  }

  override keepWhole(): Promise<void> | undefined {
    const mayRelease = !this.stored && isEncrypted(this.reader.head.header); // it was opened, and is not its own message
    return this.copy.keepWhole(mayRelease ? releaseIfAlone : undefined);
  }

  openBlocks(first: number, end: number): OpenedRuns | undefined {
    return this.#threaded.open(first, end);
  }

  /** What was opened here is alone in its memory; a signed document's pieces are blocks, which others may hold. */
  override spend({ buffer }: Uint8Array): void {
    if (this.#threaded.spend(buffer)) return;
    if (isEncrypted(this.reader.head.header)) releaseMemory(buffer);
  }
}
