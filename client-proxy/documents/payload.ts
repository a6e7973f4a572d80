/** The payload of one document in the Reader: read and kept as every reader does it, opened on threads, with memory that is used again. */
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { isEncrypted } from '../../core/object/header.ts';
import { releaseIfAlone, releaseMemory } from '../../core/primitives/release-memory.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { type DocumentSupply, type HostAttempt, Payload, type PayloadBytes } from '../../reading/payload.ts';
import type { Upstream } from '../network/upstream.ts';
import type { HostHealth } from '../site/host-health.ts';
import type { ObjectCache, ObjectWriter } from './cache/object-cache.ts';
import type { CachedObject } from './cache/stored-object.ts';
import type { ContentSource } from './content-source.ts';
import type { BlockOpener } from './opening/block-opener.ts';
import type { OpenedRuns } from './opening/opened-runs.ts';
import { ThreadedBlocks } from './opening/threaded-blocks.ts';

export interface ContentAccess {
  readonly upstream: Upstream;
  readonly health: HostHealth;
  readonly cache: ObjectCache;
  readonly opener: BlockOpener;
}

export interface ReaderDocument extends Pick<ContentAccess, 'cache' | 'opener'> {
  readonly site: string;
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly source: ContentSource;
  /** A sync wants it to stay: reading waits for the disk. */
  readonly synced?: boolean;
}

/** Sources of a document in the Reader: its cache, then the content hosts. */
export class ReaderSupply implements DocumentSupply {
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly #document: ReaderDocument;
  #writer: ObjectWriter | undefined;

  constructor(document: ReaderDocument) {
    this.path = document.path;
    this.entry = document.entry;
    this.#document = document;
  }

  find(): CachedObject | undefined {
    const { cache, site, source } = this.#document;
    const stored = cache.find(site, this.entry.head);
    if (stored) source.retain(stored);
    return stored;
  }

  drop(): void {
    this.#document.cache.drop(this.#document.site, this.entry.head);
  }

  begin(length: number): ObjectWriter | undefined {
    const { cache, site, synced } = this.#document;
    this.#writer = cache.begin(site, this.entry.head, length, synced);
    return this.#writer;
  }

  ask<Result>(work: (attempt: HostAttempt) => Promise<Result>, passedOver?: ReadonlySet<string>): Promise<Result> {
    return this.#document.source.ask(work, passedOver);
  }

  failed(attempt: HostAttempt, error: unknown): boolean {
    return this.#document.source.failed(attempt, error);
  }

  release(): void {
    this.#document.source.release();
  }

  payload(reader: DocumentReader, from: PayloadBytes, end?: number): Payload {
    return new ReaderPayload(this, this.#document.opener, reader, from, end);
  }

  /** Resolves when nothing is being written any more, for this request or another: whether the whole is there. */
  async kept(): Promise<boolean> {
    const { cache, site } = this.#document;
    return (await (this.#writer ?? cache.writerOf(site, this.entry.head))?.settled()) ?? false;
  }
}

class ReaderPayload extends Payload {
  readonly #opener: BlockOpener;
  #threaded: ThreadedBlocks | undefined;

  constructor(
    supply: DocumentSupply,
    opener: BlockOpener,
    reader: DocumentReader,
    from: PayloadBytes,
    end: number | undefined,
  ) {
    super(supply, reader, from, end);
    this.#opener = opener;
  }

  openBlocks(first: number, end: number): OpenedRuns | undefined {
    if (first === end) return undefined;
    this.#threaded ??= new ThreadedBlocks(this, this.#opener);
    return this.#threaded.open(first, end);
  }

  /** Pieces that were opened here are alone in their memory; those of a signed document are blocks, which others may hold. */
  override spend({ buffer }: Uint8Array): void {
    if (this.#threaded?.spend(buffer)) return;
    if (isEncrypted(this.reader.head.header)) releaseMemory(buffer);
  }

  /** Releases an opened block, which is not its own message. */
  protected override discard(first: Uint8Array): void {
    if (!this.stored && isEncrypted(this.reader.head.header)) releaseIfAlone(first);
  }
}
