/** Metadata files whose hash is known, from the first of some places that has them: whoever answers for a place can hide them, and no more. */
import { hexDigest } from '../../core/encoding/digest.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile } from '../../core/publication/metadata.ts';
import type { PublicationPlace } from '../publication/open.ts';

/** Bytes that are kept: a file that is not here is fetched once. */
const MOST_KEPT = 64 * 1024 * 1024;

export class FilesByHash {
  readonly #places: readonly PublicationPlace[];
  readonly #mostKept: number;
  readonly #kept = new Map<string, Uint8Array>();
  #length = 0;

  /** @param places - the nearest first, whose files are not kept */
  constructor(places: readonly PublicationPlace[], mostKept = MOST_KEPT) {
    this.#places = places;
    this.#mostKept = mostKept;
  }

  /** @returns `undefined` where none of the places has it */
  async read(path: string, { length, sha256 }: Pick<MetaFile, 'length' | 'sha256'>): Promise<Uint8Array | undefined> {
    const kept = this.#kept.get(path);
    if (kept) return kept;
    const most = Math.min(length ?? Number.POSITIVE_INFINITY, PUBLICATION_LIMITS.snapshotLength);
    for (const [distance, place] of this.#places.entries()) {
      const bytes = await place.read(path, most);
      if (bytes === undefined || (await hexDigest(bytes)) !== sha256) continue;
      if (distance > 0) this.#keep(path, bytes);
      return bytes;
    }
    return undefined;
  }

  #keep(path: string, bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#mostKept) return;
    this.#kept.set(path, bytes);
    this.#length += bytes.length;
  }
}
