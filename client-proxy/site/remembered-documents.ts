/**
 * Opened documents of one site. With a verified head, any block can be fetched and checked by itself, which ranges need; and an object that
 * begins with the same bytes needs no second check of its signature. The caller checks whether it is
 * still the one that the publication names.
 */
import { LRUCache } from 'lru-cache';
import type { CachedDocument, DocumentReader } from '../../core/object/document-reader.ts';
import { headBytes } from '../../core/object/head.ts';
import { LIMITS } from '../limits.ts';

export class RememberedDocuments {
  readonly #byPath = new LRUCache<string, CachedDocument>({
    maxSize: LIMITS.rememberedBytes,
    sizeCalculation: memoryOf,
    ttl: LIMITS.rememberedFor,
  });

  get(path: string): CachedDocument | undefined {
    return this.#byPath.get(path);
  }

  /** @param headHash - SHA-256 of the head, hexadecimal */
  set(path: string, reader: DocumentReader, headHash: string): void {
    this.#byPath.set(path, { reader, headBytes: headBytes(reader.head), headHash });
  }

  forget(path: string): void {
    this.#byPath.delete(path);
  }
}

/** Roughly: the head twice, and what surrounds it; so there are never more than 4,096. */
function memoryOf({ headBytes }: CachedDocument): number {
  return 2 * headBytes.length + 4_096;
}
