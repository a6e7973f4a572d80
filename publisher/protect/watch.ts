/** Does something again whenever files change. */
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { identityOf } from '../site/walk.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';

/**
 * Milliseconds without a change before work begins: programs write many files at a time. It grows by the time from the first to the last
 * change of a build that work has not done yet.
 */
const QUIET = { least: 300, most: 3000 };
/** Waits the same before documents go: a generator may have emptied its folder, and fill it slowly. */
const QUIET_BEFORE_REMOVAL = { least: 3000, most: 60_000 };
/** Milliseconds without a change that part one build from the next. */
const PAUSE = 10_000;
/** Milliseconds between looks at what the names lead to; more than {@link QUIET} at the least, so that looking alone never puts work off. */
const LOOKING_TIME = 500;

/** Errors that `work` reports; once they pass, that shows as a change of the directory above or of what a name leads to. */
const PASSING = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'];

/** Thrown by work that is to be done once nothing has changed for longer. */
export class Unsettled extends Error {}

/** Places to watch. None of them has to be there. */
export interface Watched {
  /** Watched with everything below it. */
  readonly directory: string;
  readonly files: readonly string[];
}

/**
 * Does `work`, and again after any number of changes, never twice at a time, until `signal` is aborted. Changes during `work` have it done again.
 *
 * Everything is watched anew before each time: a system's watch follows the directory that it was given, while a name may lead elsewhere by now.
 *
 * @param find - what to watch from now on; asked before each time
 * @param work - is told how many times it was done before, and whether nothing has changed for so long that documents which are gone may be
 * believed to be. It throws {@link Unsettled} to be done again when that is so, or after the next change; `false`: it failed
 * @throws PublishError `source-refused` where the system watches no more directories; whatever `find` and `work` throw
 */
export async function watchSite(
  find: () => Promise<Watched>,
  signal: AbortSignal,
  work: (times: number, isSettled: () => boolean) => Promise<boolean>,
): Promise<void> {
  let changed = Promise.withResolvers<void>();
  let last = performance.now();
  let first: number | undefined = last;
  const note = () => {
    const now = performance.now();
    if (first === undefined || now - last > PAUSE) first = now;
    last = now;
    changed.resolve();
  };
  const left = ({ least, most }: typeof QUIET) =>
    last + Math.min(least + last - (first ?? last), most) - performance.now();
  signal.addEventListener('abort', note, { once: true });
  for (let times = 0; !signal.aborted; ) {
    const watched = await find();
    changed = Promise.withResolvers<void>();
    using _watching = new Watching(watched, note);
    const before: number | undefined = first;
    const settledAt = performance.now() + left(QUIET_BEFORE_REMOVAL);
    first = undefined;
    const outcome = await work(times, () => first === undefined && performance.now() >= settledAt).catch(
      (error: unknown) => {
        if (error instanceof Unsettled) return 'unsettled';
        throw error;
      },
    );
    if (signal.aborted) return;
    if (outcome !== true) first = before ?? first;
    if (outcome !== 'unsettled') times++;
    const again =
      outcome === 'unsettled' ? [setTimeout(Math.max(1, left(QUIET_BEFORE_REMOVAL)), undefined, { ref: false })] : [];
    await Promise.race([changed.promise, ...again]);
    for (let wait = left(QUIET); wait > 0 && !signal.aborted; wait = left(QUIET)) await setTimeout(wait);
  }
}

/** Finds the places that the configuration names now, or named last while it cannot be read. */
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

/** Notes all changes of what is watched, from its making until it is disposed of. */
class Watching implements Disposable {
  readonly #watchers: FSWatcher[] = [];
  readonly #looking: NodeJS.Timeout;

  constructor({ directory, files }: Watched, note: () => void) {
    const look = () => [directory, ...files].map(stateOf).join('\n');
    let seen = look();
    this.#watchAll(directory, note);
    this.#looking = setInterval(() => {
      const now = look();
      if (now !== seen) note();
      seen = now;
    }, LOOKING_TIME);
  }

  /** Watches one directory at a time: `recursive` of Node.js 26 ends the program where a new directory or link in it cannot be watched. */
  #watchAll(root: string, note: () => void): void {
    const waiting = [root];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      try {
        this.#watchers.push(watch(next, note).on('error', note)); // precedes the listing: what is added after that is noted
        const entries = readdirSync(next, { withFileTypes: true });
        for (const entry of entries) if (entry.isDirectory()) waiting.push(join(next, entry.name));
      } catch (error) {
        if (PASSING.includes(systemCode(error) ?? '')) continue;
        this.#close();
        throw unwatchable(next, error);
      }
    }
  }

  #close(): void {
    for (const watcher of this.#watchers) watcher.close();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#looking);
    this.#close();
  }
}

/** Returns the state of what a name leads to: differs if that was changed, replaced or removed, or has come back. */
function stateOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? 'missing' : identityOf(stats);
  } catch (error) {
    return String(systemCode(error));
  }
}

function unwatchable(directory: string, error: unknown): PublishError {
  const limit = 'too many are watched; "sysctl fs.inotify.max_user_watches" says how many may be';
  const message = `cannot watch ${directory}: ${systemCode(error) === 'ENOSPC' ? limit : systemReason(error)}`;
  return new PublishError('source-refused', message, { cause: error });
}
