/**
 * Finds the documents of a site directory. Links are followed while they stay inside it; everything that cannot be published is
 * collected and refused by name, before anything is written.
 */
import { type BigIntStats, type Dirent, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { count, printable, someOf } from '../text.ts';
import { decodeName, isHidden, problemOfDirectory, problemOfFile } from './names.ts';

/** One file of the source. */
export interface SourceFile {
  /** The document's path: `/a/b.html`. */
  readonly path: string;
  /** The file itself, with every link resolved. */
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  /** Seconds since 1970; `undefined` for times before. */
  readonly lastModified: number | undefined;
  /** Changes when the file is changed or replaced. */
  readonly identity: string;
}

/** What a walk found. */
export interface SourceTree {
  /** In the order of their paths. */
  readonly files: readonly SourceFile[];
  /** Every directory with a document somewhere below it, as a path; without the top. */
  readonly directories: ReadonlySet<string>;
  /** How many files and directories were left out: hidden ones, and those that the configuration ignores. */
  readonly ignored: number;
}

/** So that links inside links end. */
const MAXIMUM_FILES = 1_000_000;

/**
 * Walks a site directory.
 *
 * @param isIgnored - says of a path inside the source, without a leading slash, whether it is left out
 * @throws PublishError `source-unreadable`, `source-refused`
 */
export function walkSource(source: string, isIgnored: (path: string) => boolean): SourceTree {
  const { problems, ...tree } = surveySource(source, isIgnored);
  if (problems.length > 0) throw refused(problems);
  return tree;
}

/**
 * Walks a site directory, and keeps what cannot be published for whoever asks.
 *
 * @throws PublishError `source-unreadable`
 */
export function surveySource(
  source: string,
  isIgnored: (path: string) => boolean,
): SourceTree & { readonly problems: readonly string[] } {
  const walk = new Walk(resolveRoot(source), isIgnored);
  walk.visit(walk.root, '', [walk.root]);
  walk.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const { files, ignored, problems } = walk;
  return { files, directories: directoriesOf(files), ignored, problems };
}

/** What tells that a file is still the one that was looked at. */
export function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

class Walk {
  readonly root: string;
  readonly files: SourceFile[] = [];
  readonly problems: string[] = [];
  ignored = 0;
  readonly #isIgnored: (path: string) => boolean;

  constructor(root: string, isIgnored: (path: string) => boolean) {
    this.root = root;
    this.#isIgnored = isIgnored;
  }

  /** @param ancestors - the real directories on the way here, so that a link back to one of them is seen */
  visit(directory: string, prefix: string, ancestors: readonly string[]): void {
    for (const entry of list(directory, prefix)) {
      const { name, valid } = decodeName(entry.name);
      const path = `${prefix}/${name}`;
      if (isHidden(path) || this.#isIgnored(path.slice(1))) this.ignored++;
      else if (!valid) this.#refuse(path, 'its name is not valid UTF-8');
      else if (entry.isSymbolicLink()) this.#followLink(join(directory, name), path, ancestors);
      else this.#add(join(directory, name), path, ancestors);
    }
  }

  #followLink(link: string, path: string, ancestors: readonly string[]): void {
    const target = resolveLink(link);
    if (target === undefined) this.#refuse(path, 'a link that leads nowhere');
    else if (!isInside(target, this.root)) this.#refuse(path, `a link that leaves the source, to ${target}`);
    else if (ancestors.includes(target)) this.#refuse(path, 'a link to a directory that it lies in itself');
    else this.#add(target, path, ancestors);
  }

  #add(file: string, path: string, ancestors: readonly string[]): void {
    const stats = look(file, path);
    if (stats.isDirectory()) {
      const problem = problemOfDirectory(path);
      if (problem) this.#refuse(path, problem);
      else this.visit(file, path, [...ancestors, file]);
    } else if (stats.isFile()) {
      const problem = problemOfFile(path);
      if (problem) this.#refuse(path, problem);
      else this.#addFile(file, path, stats);
    } else {
      this.#refuse(path, 'neither a file nor a directory');
    }
  }

  #addFile(file: string, path: string, stats: BigIntStats): void {
    if (this.files.length === MAXIMUM_FILES) {
      throw new PublishError('source-refused', `the source has more than ${count(MAXIMUM_FILES, 'file')}`);
    }
    const seconds = Number(stats.mtimeNs / 1_000_000_000n);
    const lastModified = seconds >= 0 ? seconds : undefined;
    this.files.push({ path, file, size: Number(stats.size), lastModified, identity: identityOf(stats) });
  }

  #refuse(path: string, reason: string): void {
    this.problems.push(`${printable(path)}: ${printable(reason)}`);
  }
}

/** Whether `path` is `directory` or lies in it; both absolute, with links resolved. */
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

/**
 * The directory of the site, with links resolved.
 *
 * @throws PublishError `source-unreadable`
 */
export function resolveRoot(source: string): string {
  try {
    const root = realpathSync(source);
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    const hint = 'name the directory of your site as "source" in wispr.json';
    throw new PublishError('source-unreadable', describeUnreadable(source, error), {
      cause: error,
      hint,
    });
  }
  throw new PublishError('source-unreadable', `${source} is not a directory`);
}

function list(directory: string, prefix: string): Dirent<Buffer>[] {
  try {
    return readdirSync(directory, { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    throw unreadable(prefix === '' ? directory : prefix, error);
  }
}

function look(file: string, path: string): BigIntStats {
  try {
    return lstatSync(file, { bigint: true });
  } catch (error) {
    throw unreadable(path, error);
  }
}

function directoriesOf(files: readonly SourceFile[]): Set<string> {
  const directories = new Set<string>();
  for (const { path } of files) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      directories.add(path.slice(0, end));
    }
  }
  return directories;
}

function unreadable(what: string, error: unknown): PublishError {
  const message = describeUnreadable(printable(what), error);
  return new PublishError('source-unreadable', message, { cause: error });
}

/** One error for all names, so that they can be put right in one go. */
export function refused(problems: readonly string[]): PublishError {
  const message = `${count(problems.length, 'file')} cannot be published, and nothing was written: ${someOf(problems, '; ')}`;
  const hint = 'rename, replace or remove them, or list them under "ignore" in wispr.json';
  return new PublishError('source-refused', message, { hint });
}
