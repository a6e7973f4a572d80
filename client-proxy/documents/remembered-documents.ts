/**
 * Opened documents of one site, for ranges: with a verified head, any block can be fetched and checked by itself. An old entry does no
 * harm: blocks of another version do not have the digests in the head, and the whole is then fetched anew.
 */
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { LIMITS } from '../limits.ts';

interface Entry {
  readonly reader: DocumentReader;
  readonly until: number;
}

export class RememberedDocuments {
  readonly #entries = new Map<string, Entry>(); // the least recently used first
  #bytes = 0;

  get(path: string): DocumentReader | undefined {
    const entry = this.#entries.get(path);
    if (entry === undefined) return undefined;
    this.forget(path);
    if (entry.until < Date.now()) return undefined;
    this.#put(path, entry);
    return entry.reader;
  }

  set(path: string, reader: DocumentReader): void {
    this.forget(path);
    this.#put(path, { reader, until: Date.now() + LIMITS.rememberedFor });
    while (this.#bytes > LIMITS.rememberedHeadBytes || this.#entries.size > LIMITS.rememberedDocuments) {
      const [oldest] = this.#entries.keys();
      if (oldest === undefined) return;
      this.forget(oldest);
    }
  }

  forget(path: string): void {
    const entry = this.#entries.get(path);
    if (entry && this.#entries.delete(path)) this.#bytes -= entry.reader.head.length;
  }

  #put(path: string, entry: Entry): void {
    this.#entries.set(path, entry);
    this.#bytes += entry.reader.head.length;
  }
}
