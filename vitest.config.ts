import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { FailedTests, LongestFirst, SlowestFiles, useMemoryForTemporaryFiles } from './tests/support/suite.ts';

// Threads and programs that tests start load compiled sources from where bin/wispr.js keeps them; otherwise each strips the types again.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/wispr-compiled', import.meta.url));

useMemoryForTemporaryFiles();

/** Tests that replace modules or change their process for good have one each. All others share processes, and what is loaded in them. */
const ISOLATED = ['tests/**/*.isolated.test.ts'];

/** The release tier (scripts/test-release.ts), with longer limits; `npm test` runs everything else. */
const IS_RELEASE = process.env.WISPR_TIER === 'release';
const RELEASE_ONLY = ['tests/release/**', 'tests/browsers/**'];

export default defineConfig({
  test: {
    // Files run four at a time on two cores, because much of the time is spent waiting for sockets and clocks. Servers, browsers and caches in tests
    // choose free ports, so files do not collide.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    setupFiles: ['tests/support/cheap-passwords.ts'],
    reporters: [new SlowestFiles(), new FailedTests(), 'default'],
    // A hang costs this much. Nothing here is timed: a machine may be three times as slow as another, and hooks start browsers and databases.
    testTimeout: IS_RELEASE ? 120_000 : 60_000,
    hookTimeout: IS_RELEASE ? 120_000 : 60_000,
    expect: { poll: { timeout: 30_000 } },
    // A focused test is a mistake where it counts.
    allowOnly: !process.env.CI,
    passWithNoTests: false,
    projects: [
      { extends: true, test: { name: 'isolated', include: ISOLATED, exclude: IS_RELEASE ? [] : RELEASE_ONLY } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['tests/**/*.test.ts'],
          exclude: IS_RELEASE ? ISOLATED : [...ISOLATED, ...RELEASE_ONLY],
          isolate: false,
          globalSetup: ['tests/support/chromium.ts', 'tests/support/postgres.ts', 'tests/support/web-reader.ts'],
        },
      },
    ],
  },
});
