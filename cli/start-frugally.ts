/** Memory settings of V8 and the C library. The Reader runs all day beside the other programs of its user. */
import { isSea } from 'node:sea';
import { setFlagsFromString } from 'node:v8';

/**
 * A young generation of 4 MiB in place of 16 and more, and collections of the old one before it has doubled: garbage of a request goes soon, and
 * the buffers of its sockets with it. A growth of 30 percent in place of 80 takes twice the processor time for large bodies, and no less memory.
 * The Maglev compiler takes 12 MiB, and no request is slower without it (docs/figures.md).
 */
export const FRUGAL_FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=80', '--no-maglev'];

/** Limits the C library to one heap for all threads, so that memory that one thread frees serves another. */
const ARENAS = 'MALLOC_ARENA_MAX';

/**
 * Executes `wispr proxy` again in the same process, with flags that save memory: with 500 connections the Reader takes 155 to 170 MiB, 240 to 280
 * without them, and 195 to 250 where V8 gets them after it has started. Must be called before other modules are loaded. Does nothing where the
 * number of heaps is set already.
 */
export function startFrugally(): void {
  if (process.argv[2] !== 'proxy' || process.platform === 'win32' || process.env[ARENAS] !== undefined) return;
  // The single file has the flags in itself, and takes none.
  const rest = isSea() ? process.argv.slice(2) : [...FRUGAL_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, [process.execPath, ...rest], { ...process.env, [ARENAS]: '1' });
}

/**
 * Saves memory in commands that go through many documents, in running heaps and in threads. The young generation keeps its first size (1 MiB;
 * Node.js lets it grow to 64 MiB), and the old one is collected when it has grown by a third. Metadata of a million documents take 210 MiB in
 * place of 350 MiB, in the same time.
 */
export function saveMemory(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--min-semi-space-size=4'); // needed by threads that may have so much: begun with 1 MiB, they would stay there
  setFlagsFromString('--heap-growing-percent=30');
}
