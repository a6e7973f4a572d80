/** What is about the store runs on PostgreSQL too: the same tests, word for word. */
import { afterAll, beforeAll, describe } from 'vitest';
import { keepStateIn } from '../support/store.ts';

const FILES = [
  'bindings',
  'browser-devices',
  'commands',
  'crash',
  'database',
  'import-bundle',
  'key-requests',
  'periods',
  'plans',
  'publication-crash',
  'publication-hand-over',
  'reading-entrance',
  'two-servers',
];

beforeAll(() => keepStateIn('postgres'));
afterAll(() => keepStateIn('sqlite'));

describe.each(FILES)('%s', async (name) => {
  // A copy of its own: these files hold what they have started.
  await import(/* @vite-ignore */ `./${name}.test.ts?on-postgres`);
});
