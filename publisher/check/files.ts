/** The files of a site for `wispr check`: compact, in memory that its threads share. */
import { sep } from 'node:path';
import type { SourceFile } from '../site/walk.ts';

export type CheckedFile = Pick<SourceFile, 'file' | 'path' | 'size'>;

/** Plain data, for threads. */
export interface FilesMemory {
  /** Directory of the site, with links resolved. */
  readonly root: string;
  /** Paths, one behind the other, and where each ends. */
  readonly text: Uint8Array;
  readonly ends: Uint32Array;
  readonly sizes: Float64Array;
  /** Numbers of files plus 1, each at the first free place from the hash of its path; 0 for nothing. */
  readonly slots: Uint32Array;
  /** Files that links lead to, by numbers. */
  readonly linked: ReadonlyMap<number, string>;
}

export class SiteFiles {
  readonly memory: FilesMemory;
  readonly #text: Buffer;

  constructor(memory: FilesMemory) {
    this.memory = memory;
    this.#text = Buffer.from(memory.text.buffer);
  }

  /** Takes files in any order, and keeps them in the order of their paths. */
  static of(files: Iterable<SourceFile>, root: string): SiteFiles {
    const place = (path: string) => root + path.replaceAll('/', sep);
    const found: { path: string; size: number; link: string | undefined }[] = [];
    for (const { path, file, size } of files) found.push({ path, size, link: file === place(path) ? undefined : file });
    found.sort((a, b) => (a.path < b.path ? -1 : 1));
    const bytes = found.reduce((sum, { path }) => sum + Buffer.byteLength(path), 0);
    const memory = {
      ...{ root, text: new Uint8Array(new SharedArrayBuffer(bytes)), linked: new Map<number, string>() },
      ends: new Uint32Array(new SharedArrayBuffer(4 * found.length)),
      sizes: new Float64Array(new SharedArrayBuffer(8 * found.length)),
      slots: new Uint32Array(new SharedArrayBuffer(4 * 2 ** Math.ceil(Math.log2(2 * found.length + 2)))),
    };
    const self = new SiteFiles(memory);
    let end = 0;
    for (const [number, { path, size, link }] of found.entries()) {
      end += self.#text.write(path, end);
      memory.ends[number] = end;
      memory.sizes[number] = size;
      if (link !== undefined) memory.linked.set(number, link);
      memory.slots[self.#slotOf(path)] = number + 1;
    }
    return self;
  }

  get length(): number {
    return this.memory.ends.length;
  }

  sizeOf(number: number): number {
    return this.memory.sizes[number] ?? 0;
  }

  pathOf(number: number): string {
    const { ends } = this.memory;
    return this.#text.toString('utf8', ends[number - 1] ?? 0, ends[number]);
  }

  at(number: number): CheckedFile {
    const { root, linked } = this.memory;
    const path = this.pathOf(number);
    return { path, size: this.sizeOf(number), file: linked.get(number) ?? root + path.replaceAll('/', sep) };
  }

  /** Finds the number of a file by its path; `undefined` if the site has none there. */
  find(path: string): number | undefined {
    const number = this.memory.slots[this.#slotOf(path)] ?? 0;
    return number === 0 ? undefined : number - 1;
  }

  has(path: string): boolean {
    return this.find(path) !== undefined;
  }

  /** Finds where a path stands, or would stand. */
  #slotOf(path: string): number {
    const { slots } = this.memory;
    let slot = hashOf(path) & (slots.length - 1);
    for (;;) {
      const number = slots[slot] ?? 0;
      if (number === 0 || this.pathOf(number - 1) === path) return slot;
      slot = (slot + 1) & (slots.length - 1);
    }
  }
}

/** FNV-1a, with the bits spread. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash ^ (hash >>> 15);
}
