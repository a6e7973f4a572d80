/** How the Reader's process starts, which runs all day beside everything else that its user does. */
import { isSea } from 'node:sea';
import { setFlagsFromString } from 'node:v8';

/**
 * Young objects have 4 MiB, not 16 and more, and older ones are looked through before they have doubled, not when they are several times as many:
 * what a request leaves behind goes soon, and the buffers of its sockets with it. With 30 percent in place of 80, what passes through in large
 * pieces would take twice the processor time, and no less memory. The middle one of V8's compilers takes 12 MiB while it works on what a
 * thousand requests have in common, and no request is slower without it: what is asked for often gets to the last one (docs/figures.md).
 */
export const FRUGAL_FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=80', '--no-maglev'];

/** One heap of the C library for all threads: what one gives back, another can use. */
const ARENAS = 'MALLOC_ARENA_MAX';

/**
 * Starts `wispr proxy` anew, as the same process, with what takes least memory: V8 and the C library read it only when a process begins. To be
 * called before anything is loaded. Does nothing where the number of heaps is set already.
 */
export function startFrugally(): void {
  if (process.argv[2] !== 'proxy' || process.platform === 'win32' || process.env[ARENAS] !== undefined) return;
  // The single file has the flags in itself, and takes none.
  const rest = isSea() ? process.argv.slice(2) : [...FRUGAL_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, [process.execPath, ...rest], { ...process.env, [ARENAS]: '1' });
}

/**
 * For commands that go through many documents. The space for young objects stays as small as it is when a program starts (1 MiB; Node.js lets it
 * grow to 64 MiB), and garbage among the older ones is looked for when they have grown by a third, not by several times: metadata for a million
 * documents took 350 MiB without this and 210 MiB with it, in the same time. It works for heaps that are there already, and for threads.
 */
export function saveMemory(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--min-semi-space-size=4'); // for threads that may have so much: begun with 1 MiB, they would stay there
  setFlagsFromString('--heap-growing-percent=30');
}
