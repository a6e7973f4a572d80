/** Checks of this machine: disks, and the versions that run. */
import { stat, statfs } from 'node:fs/promises';
import { size } from '../size.ts';
import { type Check, ok, problem, warning } from './diagnosis.ts';

/** Bytes that are left: too few for the next publication or backup, and few. */
const [FULL, LOW] = [100 * 2 ** 20, 2 ** 30];
/** Files that can still be made: a publication has two for each document. */
const FEW_FILES = 10_000;

/** Checks the room on each disk that has one of these directories. Missing directories are passed over. */
export async function diskChecks(directories: readonly string[]): Promise<Check[]> {
  const disks = new Map<number, string>();
  for (const directory of directories) {
    const found = await stat(directory).catch(() => undefined);
    if (found && !disks.has(found.dev)) disks.set(found.dev, directory);
  }
  return Array.from(disks.values(), (directory) => ({
    check: `disk of ${directory}`,
    remedy: 'check that it is mounted',
    run: async () => {
      const { bavail, bsize, files, ffree } = await statfs(directory);
      const says = `${size(bavail * bsize)} free`;
      const remedy = 'remove what is not needed, or make it larger';
      if (bavail * bsize < FULL) return problem(says, remedy);
      if (files > 0 && ffree < FEW_FILES) return warning(`${says}, and ${ffree} more files can be made`, remedy);
      return bavail * bsize < LOW ? warning(says, remedy) : ok(says);
    },
  }));
}

/**
 * Checks whether the Node.js that runs is one that this wispr is made for.
 *
 * @param wispr - version of this program
 * @param engines - `>=MAJOR.MINOR`
 */
export function versionCheck(wispr: string, engines: string, node = process.versions.node): Check {
  const numbers = (text: string) => text.replace(/^\D*/, '').split('.').map(Number);
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [numbers(node), numbers(engines)];
  const says = `wispr ${wispr} on Node.js ${node}`;
  return {
    check: 'versions',
    remedy: '',
    run: async () =>
      major > leastMajor || (major === leastMajor && minor >= leastMinor)
        ? ok(says)
        : problem(says, `install Node.js ${leastMajor}.${leastMinor} or newer`),
  };
}
