/** Settings of a whole run of the tests: where temporary files lie, which files come first, which were slowest, and what failed. */
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node';

const IN_MEMORY = '/dev/shm';
/** Bytes. Whole sites and their copies lie there, and a file of 2 GiB. */
const ROOM = 4 * 2 ** 30;

/** Makes a folder in memory the one for temporary files of this process and all that it starts, until it ends; does nothing where `TMPDIR` is set. */
export function useMemoryForTemporaryFiles(): void {
  if (process.env.TMPDIR !== undefined || !mayBeUsed()) return;
  const folder = mkdtempSync(`${IN_MEMORY}/w`); // paths of sockets are bounded
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
    return false; // is another system
  }
}

const mountLine = new RegExp(`^\\S+ ${IN_MEMORY} tmpfs .*$`, 'm');

/** Started early: one of these that starts last runs alone, while the other core is idle. */
const LONG =
  /\/(?:e2e\/|client-proxy\/(?:gateway\/browser|hostile-host|opening)|publisher\/(?:publish-property|protect-failures)|cli\/scripts|keyserver\/(?:dispatcher|reading-origins))/;

/** Isolated files come before all others: a process is only shared by files that follow one another. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ project, moduleId }: TestSpecification): number {
  if (project.config.isolate) return 0;
  return LONG.test(moduleId) ? 1 : 2;
}

const SHOWN = 10;
/** File in which scripts/test.mjs wants to find them, if a whole run was asked for. */
const TIMES = process.env.WISPR_TEST_TIMES;

/** Prints the slowest files above the summary of Vitest, and leaves them for scripts/test.mjs. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return; // a few files are timed line by line already
    const timed = modules.map((module) => ({ file: module.relativeModuleId, seconds: secondsOf(module) }));
    timed.sort((a, b) => b.seconds - a.seconds);
    const slowest = timed.slice(0, SHOWN);
    const lines = slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
    process.stdout.write(`\nThe ten slowest of ${modules.length} files:\n${lines.join('\n')}\n`);
    if (TIMES !== undefined) writeFileSync(TIMES, JSON.stringify({ slowest }));
  }
}

/** Leaves what failed for scripts/test-release.ts, if that asked for it. */
export class FailedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules.filter((module) => !module.ok());
    const lines = failed.flatMap(({ relativeModuleId, children }) => [
      `${relativeModuleId}\n`,
      ...Array.from(children.allTests('failed'), ({ fullName }) => `  ${fullName}\n`),
    ]);
    if (process.env.WISPR_TEST_FAILURES !== undefined) appendFileSync(process.env.WISPR_TEST_FAILURES, lines.join(''));
  }
}

/** Loading, hooks and tests. */
function secondsOf(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return Math.round((collectDuration + setupDuration + duration) / 100) / 10;
}
