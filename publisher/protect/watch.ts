/** Does something again whenever files change. */
import { type BigIntStats, type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { identityOf } from '../site/walk.ts';
import { count } from '../text.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';

/** Milliseconds without a change before work begins: programs write many files at a time. */
const QUIET_TIME = 300;
/** Milliseconds between looks at what the names lead to; more than {@link QUIET_TIME}, so that looking alone never puts work off. */
const LOOKING_TIME = 500;

const HINT_FOR_MORE =
  'hint: "sysctl fs.inotify.max_user_watches" says how many directories all programs may watch; it can be raised';

/** What is watched. None of it has to be there. */
export interface Watched {
  /** With everything below it. */
  readonly directory: string;
  readonly files: readonly string[];
}

/**
 * Does `work`, and again after any number of changes, never twice at a time, until `signal` is aborted. Changes while it is done have it done once more.
 *
 * Everything is watched anew before each time: a system's watch follows the directory that it was given, while a name may lead to another one by now.
 *
 * @param find - what to watch from now on; asked before each time
 * @param work - is told how many times it was done before
 * @param say - told once what cannot be watched, and once when it can be again
 * @throws whatever `find` and `work` throw
 */
export async function watchSite(
  find: () => Promise<Watched>,
  signal: AbortSignal,
  work: (times: number) => Promise<void>,
  say: (line: string) => void,
): Promise<void> {
  let changed = Promise.withResolvers<void>();
  let last = 0;
  const note = () => {
    last = performance.now();
    changed.resolve();
  };
  signal.addEventListener('abort', note, { once: true });
  const tell = toldOnce(say);
  for (let times = 0; !signal.aborted; times++) {
    const watched = await find();
    changed = Promise.withResolvers<void>();
    using watching = new Watching(watched, note);
    tell(watched.directory, watching.unwatched);
    await work(times);
    if (signal.aborted) return;
    await changed.promise;
    for (let left = QUIET_TIME; left > 0 && !signal.aborted; left = last + QUIET_TIME - performance.now())
      await setTimeout(left);
  }
}

/** What the configuration names now, or named last while it cannot be read. */
export function placesToWatch(configurationFile: string): () => Promise<Watched> {
  const inWorkspace = (path: string) => resolve(dirname(configurationFile), path);
  let known: Watched | undefined;
  return async () => {
    try {
      const { source, recipient, fallback } = await readConfiguration(configurationFile);
      const files = [recipient, ...(fallback.template === undefined ? [] : [fallback.template])].map(inWorkspace);
      known = { directory: inWorkspace(source), files: [configurationFile, ...files] };
    } catch (error) {
      if (known === undefined) throw error;
    }
    return known;
  };
}

/** From its making until it is disposed of, nothing happens to what is watched without a note of it. */
class Watching implements Disposable {
  /** Directories that could not be watched, and why. */
  readonly unwatched = new Map<string, unknown>();
  readonly #watchers: FSWatcher[] = [];
  readonly #looking: NodeJS.Timeout;

  constructor({ directory, files }: Watched, note: () => void) {
    const look = () => [directory, ...files].map(stateOf).join('\n');
    let seen = look();
    this.#watchAll(directory, note);
    this.#looking = setInterval(() => {
      const now = look();
      if (now !== seen || [...this.unwatched.keys()].some(isWatchable)) note();
      seen = now;
    }, LOOKING_TIME);
  }

  /** One directory at a time: `recursive` of Node.js 26 ends the program where a new directory or link in it cannot be watched. */
  #watchAll(root: string, note: () => void): void {
    const waiting = [root];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      try {
        this.#watchers.push(watch(next, note).on('error', note)); // before it is listed: what is added after that is noted
        waiting.push(...directoriesIn(next));
      } catch (error) {
        this.unwatched.set(next, error);
      }
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#looking);
    for (const watcher of this.#watchers) watcher.close();
  }
}

function directoriesIn(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}

function isWatchable(directory: string): boolean {
  try {
    watch(directory).close();
    directoriesIn(directory);
    return true;
  } catch {
    return false;
  }
}

/** What a name leads to: is another where that was changed, replaced or removed, or has come back. */
function stateOf(path: string): string {
  try {
    const stats: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? 'missing' : identityOf(stats);
  } catch (error) {
    return String(systemCode(error));
  }
}

/** What is not there, `work` complains of. */
function toldOnce(say: (line: string) => void): (directory: string, unwatched: ReadonlyMap<string, unknown>) => void {
  let told: string | undefined;
  return (directory, unwatched) => {
    const others = [...unwatched].filter(([, error]) => !['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? ''));
    const line = describeUnwatched(others);
    if (line === told) return;
    told = line;
    say(line ?? `watching all of ${directory} again`);
    if (others.some(([, error]) => systemCode(error) === 'ENOSPC')) say(HINT_FOR_MORE);
  };
}

function describeUnwatched([first, ...more]: readonly (readonly [string, unknown])[]): string | undefined {
  if (first === undefined) return undefined;
  const [directory, error] = first;
  const others = more.length === 0 ? '' : ` and ${count(more.length, 'other directory', 'other directories')}`;
  return `cannot watch ${directory}${others}: ${systemReason(error)}; what changes there is seen when something else changes`;
}
