/**
 * Files that a power cut left cut short. Objects are not waited for on their way to the disk, one by one: that would take longer than all else.
 * The index is, and may thus believe in a file whose bytes never arrived. So the first run after the machine was started looks at the lengths of
 * the files of all documents, once; ext4, XFS, Btrfs and APFS let a file have its length only when it has its bytes. What another file system mixes up beyond
 * that, `wispr verify` finds, and readers refuse.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { bootId } from '../../node-support/boot.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import type { IndexedDocument } from '../index/rows.ts';

/** Which of its document's files one is. */
export type FileRole = 'head' | 'content' | 'placed';

export class WholeFiles {
  readonly #out: string;
  readonly #index: PublisherIndex;
  readonly #doubted: boolean;

  constructor(out: string, index: PublisherIndex) {
    this.#out = out;
    this.#index = index;
    this.#doubted = index.fact('boot') !== bootId();
  }

  /** Whether a file of the document at `documentPath` has the length that was written. */
  has(file: string, documentPath: string, role: FileRole): boolean {
    return !this.#doubted || this.#hasLength(file, lengthOf(this.#index.find(documentPath), role));
  }

  /** A file of unknown length has to have some. */
  #hasLength(file: string, length: number | undefined): boolean {
    const { size } = statSync(join(this.#out, file), { throwIfNoEntry: false }) ?? { size: -1 };
    return length === undefined ? size > 0 : size === length;
  }
}

/** Notes that all files that the index believes in were found, or written, since the machine was started. */
export function noteWhole(index: PublisherIndex): void {
  index.setFact('boot', bootId());
}

function lengthOf(row: IndexedDocument | undefined, role: FileRole): number | undefined {
  if (role === 'head') return row?.setId === undefined ? row?.headLength : row.bytesOut;
  if (role === 'content' || row?.form === 'copy') return row?.contentLength;
  return row?.form === 'carrier' ? row.bytesOut : undefined;
}
