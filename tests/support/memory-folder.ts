/** Temporary files of tests lie in memory where there is room: waiting for disks was half of the time of tests with databases. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';

const IN_MEMORY = '/dev/shm';
/** Bytes. Whole sites and their copies lie there, and a file of 2 GiB. */
const ROOM = 4 * 2 ** 30;

/** Makes a folder in memory the one for temporary files of this process and all that it starts, until it ends; does nothing where `TMPDIR` is set. */
export function useMemoryForTemporaryFiles(): void {
  if (process.env.TMPDIR !== undefined || !mayBeUsed()) return;
  const folder = mkdtempSync(`${IN_MEMORY}/w`); // short: paths of sockets are bounded
  chmodSync(folder, 0o711); // servers become other users
  process.env.TMPDIR = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

/** Programs have to be able to run there. */
function mayBeUsed(): boolean {
  try {
    const [, , , options = ''] = readFileSync('/proc/mounts', 'utf8').match(mountLine)?.[0].split(' ') ?? [];
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return options !== '' && !options.split(',').includes('noexec') && bavail * bsize >= ROOM;
  } catch {
    return false; // another system
  }
}

const mountLine = new RegExp(`^\\S+ ${IN_MEMORY} tmpfs .*$`, 'm');
