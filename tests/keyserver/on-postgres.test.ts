/** Purposes of the store, on PostgreSQL too: the same tests, word for word. tests/release/postgres runs all others that keep something. */
import { describe } from 'vitest';
import { keepStateIn } from '../support/store.ts';

keepStateIn('postgres');

describe.each(['crash', 'database', 'two-servers'])('%s', async (name) => {
  // A copy of its own: these files hold what they have started.
  await import(/* @vite-ignore */ `./${name}.test.ts?on-postgres`);
});
