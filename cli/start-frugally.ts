/** How the Reader's process starts, which runs all day beside everything else that its user does. */
import { isSea } from 'node:sea';

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
