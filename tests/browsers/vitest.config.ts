/** `npm run test:browsers`: the in-browser reader in the browsers that `npm test` does not start. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/browsers/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
