/** Does something again whenever files change. */
import { watch } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

/** Milliseconds without a change before work begins: programs write many files at a time. */
const QUIET_TIME = 300;

/**
 * Watches files and directories, these with everything below them, until `signal` is aborted.
 *
 * @param work - done once for any number of changes, never twice at a time; changes meanwhile have it done once more
 * @throws whatever `work` throws, unless it was told to stop
 */
export async function watchSite(
  paths: readonly string[],
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  let changed = Promise.withResolvers<void>();
  let last = 0;
  const note = () => {
    last = performance.now();
    changed.resolve();
  };
  const watching = Promise.all(paths.map((path) => listen(path, signal, note)));
  watching.catch(() => changed.resolve()); // thrown below
  signal.addEventListener('abort', () => changed.resolve(), { once: true });
  while (!signal.aborted) {
    await changed.promise;
    if (signal.aborted) break;
    for (let left = QUIET_TIME; left > 0; left = last + QUIET_TIME - performance.now()) await setTimeout(left);
    changed = Promise.withResolvers<void>();
    if (signal.aborted) break;
    await unlessStopped(work(), signal);
  }
  await watching;
}

async function listen(path: string, signal: AbortSignal, note: () => void): Promise<void> {
  try {
    for await (const _ of watch(path, { recursive: true, signal })) note();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function unlessStopped(work: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
