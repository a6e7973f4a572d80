import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Threads and programs that tests start find the sources compiled, where bin/wispr.js keeps them: otherwise each takes the types out of them anew.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/wispr-compiled', import.meta.url));

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Two cores: two files at a time; three are no faster, for it is processor time that counts. Servers, browsers and caches in tests choose free
    // ports, so files do not meet.
    maxWorkers: 2,
    // Only what hangs shall end by these: programs that stretch passphrases take a minute each on a machine that is busy with other things.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // What is waited for takes its time on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    // Nothing is skipped or focused where it counts.
    allowOnly: !process.env.CI,
    passWithNoTests: false,
  },
});
