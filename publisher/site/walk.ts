/**
 * Finds the documents of a site directory, one after the other, however many there are. Links are followed while they stay inside it;
 * everything that cannot be published is collected and refused by name, before anything is written.
 */
import { type BigIntStats, type Dirent, lstatSync, opendirSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { printable } from '../../node-support/printable.ts';
import { PublishError, whenUnreadable } from '../errors.ts';
import { count, Problems, someOf } from '../text.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { decodeName, isHidden, isKeyFile, isNeverMeant, nameOf, problemOfDirectory, problemOfFile } from './names.ts';
import { PathPatterns } from './patterns.ts';

export interface SourceFile {
  readonly path: string;
  /** The file itself, with every link resolved. */
  readonly file: string;
  readonly size: number;
  /** Seconds since 1970; `undefined` for times before. */
  readonly lastModified: number | undefined;
  /** Changes when the file is changed or replaced. */
  readonly identity: string;
}

/** Bound at which links inside links end. */
const MAXIMUM_FILES = 10_000_000;

/** Names as they are: the types say nothing of this option. */
const OPEN_DIRECTORY = { bufferSize: 512, encoding: 'buffer' };

interface PendingDirectory {
  readonly directory: string;
  readonly path: string;
  /** The real directories on the way here, so that a link back to one of them is seen. */
  readonly ancestors: readonly string[];
}

/** Returns a text that tells whether a file is still the one that was looked at. */
export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** A walk through a site directory. No more is in memory than the directories that are still to come. */
export class SourceWalk {
  readonly problems = new Problems();
  /** Number of files and directories that were left out: hidden ones, and those that the configuration ignores. */
  ignored = 0;
  /** Names of the hidden ones that may have been meant, each with the first path. */
  readonly hidden = new Map<string, string>();
  readonly root: string;
  readonly #ignore: PathPatterns;
  readonly #include: PathPatterns;
  readonly #waiting: PendingDirectory[];
  #found = 0;
  readonly #only: readonly string[] | undefined;
  readonly #ahead: SourceFile[] = [];
  readonly #walking = this.#walk();

  /**
   * @param only - paths of the documents, and directories of them, that are looked at; default: all
   * @throws PublishError `source-refused`
   */
  constructor(
    source: string,
    { ignore, include }: Pick<Configuration, 'ignore' | 'include'>,
    only?: readonly string[] | undefined,
  ) {
    this.#only = only;
    this.root = resolveRoot(source);
    this.#ignore = new PathPatterns(ignore);
    this.#include = new PathPatterns(include);
    this.#waiting = [{ directory: this.root, path: '', ancestors: [this.root] }];
  }

  /** Looks at the first `most` documents now, for {@link files} to give out. @throws PublishError `source-refused` */
  lookAhead(most: number): void {
    while (this.#ahead.length < most) {
      const { done, value } = this.#walking.next();
      if (done) return;
      this.#ahead.push(value);
    }
  }

  /** Yields every document once, in no particular order. @throws PublishError `source-refused` */
  *files(): Generator<SourceFile> {
    for (let file = this.#ahead.pop(); file !== undefined; file = this.#ahead.pop()) yield file;
    yield* this.#walking;
  }

  *#walk(): Generator<SourceFile> {
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      for (const entry of entriesOf(next)) {
        const file = this.#visit(entry, next);
        if (file !== undefined) yield file;
      }
    }
  }

  #visit(entry: Dirent<Buffer>, { directory, path: prefix, ancestors }: PendingDirectory): SourceFile | undefined {
    const { name, valid } = decodeName(entry.name);
    const path = `${prefix}/${name}`;
    if (!this.#isWanted(path)) return undefined;
    if (this.#isLeftOut(path)) this.ignored++;
    else if (!valid) this.#refuse(path, 'its name is not valid UTF-8');
    else if (entry.isSymbolicLink()) return this.#followLink(join(directory, name), path, ancestors);
    else return this.#add(`${directory}${sep}${name}`, path, ancestors);
    return undefined;
  }

  #isWanted(path: string): boolean {
    return this.#only?.some((each) => isAtOrBelow(path, each) || isAtOrBelow(each, path)) ?? true;
  }

  #isLeftOut(path: string): boolean {
    const inside = path.slice(1);
    return isNeverMeant(path) || this.#ignore.fits(inside) || this.#isHidden(path);
  }

  #isHidden(path: string): boolean {
    const isLeftOut = isHidden(path) && !this.#include.fits(path.slice(1));
    if (isLeftOut && !this.hidden.has(nameOf(path))) this.hidden.set(nameOf(path), path);
    return isLeftOut;
  }

  /** Lists patterns of what to ignore and to include that fitted nothing. */
  unused(): string[] {
    return [...this.#ignore.unused(), ...this.#include.unused()];
  }

  #followLink(link: string, path: string, ancestors: readonly string[]): SourceFile | undefined {
    const target = resolveLink(link);
    if (target === undefined) this.#refuse(path, 'a link that leads nowhere');
    else if (!isInside(target, this.root)) this.#refuse(path, `a link that leaves the source, to ${target}`);
    else if (ancestors.includes(target)) this.#refuse(path, 'a link to a directory that it lies in itself');
    else {
      const names = relative(this.root, target).split(sep);
      const above = names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
      if (above.some((each) => isNeverMeant(each) || isKeyFile(each)))
        this.#refuse(path, `a link to ${above.at(-1)}, which is never published`);
      else if (above.some((each) => this.#ignore.fits(each.slice(1)) || this.#isHidden(each))) this.ignored++;
      else return this.#add(target, path, ancestors);
    }
    return undefined;
  }

  #add(file: string, path: string, ancestors: readonly string[]): SourceFile | undefined {
    const stats = reading(path, () => lstatSync(file, { bigint: true }));
    const problem = stats.isDirectory()
      ? problemOfDirectory(path)
      : stats.isFile()
        ? problemOfFile(path)
        : 'neither a file nor a directory';
    if (problem) this.#refuse(path, problem);
    else if (stats.isFile()) return this.#sourceFile(file, path, stats);
    else this.#waiting.push({ directory: file, path, ancestors: [...ancestors, file] });
    return undefined;
  }

  #sourceFile(file: string, path: string, stats: BigIntStats): SourceFile {
    if (++this.#found > MAXIMUM_FILES) {
      throw new PublishError('source-refused', `the source has more than ${count(MAXIMUM_FILES, 'file')}`);
    }
    const seconds = Number(stats.mtimeNs / 1_000_000_000n);
    const lastModified = seconds >= 0 ? seconds : undefined;
    return { path, file, size: Number(stats.size), lastModified, identity: identityOf(stats) };
  }

  #refuse(path: string, reason: string): void {
    this.problems.add(`${printable(path)}: ${printable(reason)}`);
  }
}

/** Tells the same as {@link isInside}, of paths in a site. */
export function isAtOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`);
}

/** Tells whether `path` is `directory` or lies in it; both absolute, with links resolved. */
export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function resolveLink(link: string): string | undefined {
  try {
    return realpathSync(link);
  } catch {
    return undefined;
  }
}

/** Returns the directory of the site, with links resolved. @throws PublishError `source-refused` */
export function resolveRoot(source: string): string {
  const root = reading(source, () => realpathSync(source));
  if (reading(source, () => statSync(root)).isDirectory()) return root;
  throw new PublishError('source-refused', `${source} is not a directory`);
}

/** Reads entries one by one: a directory may hold millions. */
function* entriesOf({ directory, path }: PendingDirectory): Generator<Dirent<Buffer>> {
  const what = path === '' ? directory : path;
  using opened = reading(what, () => opendirSync(directory, OPEN_DIRECTORY as { bufferSize: number }));
  const next = () => reading(what, () => opened.readSync());
  for (let entry = next(); entry !== null; entry = next()) yield entry as unknown as Dirent<Buffer>;
}

/** @throws PublishError `source-refused` */
export function reading<Result>(what: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    return whenUnreadable('source-refused', printable(what))(error);
  }
}

/** Makes one error for all names, so that they can be put right in one go. */
export function refused(problems: Problems): PublishError {
  const message = `${count(problems.count, 'file')} cannot be published, and nothing was written: ${someOf(problems.first, '; ', problems.count)}`;
  return new PublishError('source-refused', message);
}
