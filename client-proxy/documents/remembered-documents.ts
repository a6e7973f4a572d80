/**
 * Opened documents of one site. With a verified head, any block can be fetched and checked by itself, which ranges need; and an object that
 * begins with the same bytes needs no second check of its signature. Whether it is still the one that the publication names, whoever asks
 * looks at.
 */
import type { DocumentReader, KnownDocument } from '../../core/object/document-reader.ts';
import { headBytes } from '../../core/object/head.ts';
import { LIMITS } from '../limits.ts';

interface Entry extends KnownDocument {
  readonly until: number;
}

export class RememberedDocuments {
  readonly #entries = new Map<string, Entry>(); // the least recently used first
  #bytes = 0;

  get(path: string): KnownDocument | undefined {
    const entry = this.#entries.get(path);
    if (entry === undefined) return undefined;
    this.forget(path);
    if (entry.until < Date.now()) return undefined;
    this.#put(path, entry);
    return entry;
  }

  /** @param headHash - SHA-256 of the head, hexadecimal */
  set(path: string, reader: DocumentReader, headHash: string): void {
    this.forget(path);
    this.#put(path, { reader, headBytes: headBytes(reader.head), headHash, until: Date.now() + LIMITS.rememberedFor });
    while (this.#bytes > LIMITS.rememberedHeadBytes || this.#entries.size > LIMITS.rememberedDocuments) {
      const [oldest] = this.#entries.keys();
      if (oldest === undefined) return;
      this.forget(oldest);
    }
  }

  forget(path: string): void {
    const entry = this.#entries.get(path);
    if (entry && this.#entries.delete(path)) this.#bytes -= memoryOf(entry);
  }

  #put(path: string, entry: Entry): void {
    this.#entries.set(path, entry);
    this.#bytes += memoryOf(entry);
  }
}

/** Roughly: the head twice, and what surrounds it. */
function memoryOf({ headBytes }: Entry): number {
  return 2 * headBytes.length + 1000;
}
