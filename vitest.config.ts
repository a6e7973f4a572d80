import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst, SlowestFiles, useMemoryForTemporaryFiles } from './tests/support/suite.ts';

// Threads and programs that tests start load compiled sources from where bin/wispr.js keeps them; otherwise each strips the types again.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/wispr-compiled', import.meta.url));

useMemoryForTemporaryFiles();

/** These replace modules or change their process for good: each has a process of its own. All others share processes, and what is loaded in them. */
const ISOLATED = ['tests/**/*.isolated.test.ts'];

/** In browsers that are not installed for `npm test`: `npm run test:browsers`. */
const OTHER_BROWSERS = 'tests/browsers/**';

export default defineConfig({
  test: {
    // Two cores: four files at a time, because much of the time is spent waiting for sockets and clocks. Servers, browsers and caches in tests choose free ports, so
    // files do not collide.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['tests/support/cheap-passwords.ts'],
    reporters: [new SlowestFiles(), 'default'],
    // Only for what hangs: on a busy machine, programs that derive keys from passphrases take a minute each.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Generous, because the machine may be busy.
    expect: { poll: { timeout: 15_000 } },
    // No test is focused by mistake where it counts.
    allowOnly: !process.env.CI,
    passWithNoTests: false,
    projects: [
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['tests/**/*.test.ts'],
          exclude: [...ISOLATED, OTHER_BROWSERS],
          isolate: false,
          globalSetup: ['tests/support/chromium.ts', 'tests/support/postgres.ts'],
        },
      },
    ],
  },
});
