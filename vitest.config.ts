import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { useMemoryForTemporaryFiles } from './tests/support/memory-folder.ts';
import { SlowestFiles } from './tests/support/slowest-files.ts';

// Threads and programs that tests start find the sources compiled, where bin/wispr.js keeps them: otherwise each takes the types out of them anew.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/wispr-compiled', import.meta.url));

useMemoryForTemporaryFiles();

/** Begun first: one of these that is left for the end runs alone, while the other core has nothing to do. */
const LONG =
  /e2e\/(?:debian-handbook|python-doc|demo|journey)\.|cache-tests\.|-(?:kill|crash)\.|cli\/(?:publisher|service|fetch|keys)\.|identity-cli\./;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** These replace modules or change their process for good: each has a process of its own. All others share processes, and what is loaded in them. */
const ISOLATED = ['tests/**/*.isolated.test.ts'];

export default defineConfig({
  test: {
    // Two cores: three files at a time, for a quarter of the time is spent waiting for disks and sockets. Servers, browsers and caches in tests choose free
    // ports, so files do not meet.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['tests/support/cheap-passphrases.ts'],
    reporters: [new SlowestFiles(), 'default'],
    // Only what hangs shall end by these: programs that stretch passphrases take a minute each on a machine that is busy with other things.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // What is waited for takes its time on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    // Nothing is skipped or focused where it counts.
    allowOnly: !process.env.CI,
    passWithNoTests: false,
    projects: [
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['tests/**/*.test.ts'],
          exclude: ISOLATED,
          isolate: false,
          globalSetup: 'tests/support/chromium.ts',
        },
      },
    ],
  },
});
