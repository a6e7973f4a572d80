/**
 * Directories of the output in which no name was added, removed or replaced since a run that ended: these are not listed again. Whatever does so, and
 * whatever puts a directory back from a copy, changes the time at which the system says that the directory became another.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { entriesOf, type FoundFile } from './files.ts';

/** Directory that is always listed: each run adds to it. */
const METADATA = METADATA_PATH.slice(0, -1);
/** Milliseconds: a later change might have the same time. */
const SETTLED = 2000;

export class Directories {
  readonly #known: ReadonlyMap<string, string>;
  readonly #below = new Map<string, string[]>();
  readonly #listed = new Map<string, string>();
  readonly #passed = new Set<string>();

  readonly #none: boolean;
  /** Files come directory by directory. */
  #last = { directory: '/', passed: false };

  /**
   * @param known - states of directories as {@link changed} gave them, by their paths in the output: '' and such as `/a/b`; `all`: none is
   * listed, but for that of the metadata
   */
  constructor(known: ReadonlyMap<string, string> | 'all') {
    this.#none = known === 'all';
    this.#known = known === 'all' ? new Map() : known;
    for (const path of this.#known.keys()) {
      const above = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      if (path !== '') this.#below.set(above, [...(this.#below.get(above) ?? []), path]);
    }
  }

  /** Lists everything that is no directory in the directories that may have changed. Links are never followed. */
  *filesIn(out: string): Generator<FoundFile> {
    const waiting = this.#none ? [METADATA] : [''];
    for (let prefix = waiting.pop(); prefix !== undefined; prefix = waiting.pop()) {
      const state = stateOf(join(out, prefix));
      if (state !== undefined && this.#known.get(prefix) === state && prefix !== METADATA) {
        this.#passed.add(prefix);
        waiting.push(...(this.#below.get(prefix) ?? []));
        continue;
      }
      for (const entry of entriesOf(join(out, prefix))) {
        const path = `${prefix}/${entry.name}`;
        if (entry.isDirectory()) waiting.push(path);
        else yield { path, name: entry.name, isFile: entry.isFile() };
      }
      this.#listed.set(prefix, state ?? '');
    }
  }

  /** Tells whether the directory of a file was not listed: then all names are there that were there before. */
  has(path: string): boolean {
    if (this.#none) return true;
    const directory = path.slice(0, path.lastIndexOf('/'));
    if (directory !== this.#last.directory) this.#last = { directory, passed: this.#passed.has(directory) };
    return this.#last.passed;
  }

  get isEmpty(): boolean {
    return !this.#none && this.#passed.size === 0;
  }

  /** Gives what is to be noted once the files are there that this run found missing. */
  changed(): { readonly states: ReadonlyMap<string, string>; readonly gone: readonly string[] } {
    const gone = [...this.#known.keys()].filter((path) => !this.#passed.has(path) && !this.#listed.has(path));
    return { states: this.#listed, gone };
  }
}

/** `undefined` where there is no directory, or one that changed a moment ago. */
function stateOf(directory: string): string | undefined {
  const stats = lstatSync(directory, { bigint: true, throwIfNoEntry: false });
  if (!stats?.isDirectory() || Date.now() - Number(stats.ctimeMs) < SETTLED) return undefined;
  return `${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}`;
}
