import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // One file more at a time than there are cores in the least of machines: many wait for servers and browsers. All choose free ports, so files
    // do not meet.
    maxWorkers: 3,
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
