import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Two cores: two files at a time. Servers, browsers and caches in tests choose free ports, so files do not meet.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // What a test waits for comes later on a machine that is busy with others.
    expect: { poll: { timeout: 20_000 } },
    // Nothing is skipped or focused where it counts.
    allowOnly: !process.env.CI,
    passWithNoTests: false,
  },
});
