/** What is about the store runs on PostgreSQL too: the same tests, word for word. */
import { describe } from 'vitest';
import { keepStateIn } from '../../support/store.ts';

const FILES = [
  'admin-store',
  'audit',
  'bindings',
  'browser-devices',
  'commands',
  'crash',
  'database',
  'groups',
  'import-bundle',
  'key-requests',
  'mail',
  'openid',
  'paywall',
  'periods',
  'plans',
  'publication-crash',
  'publication-hand-over',
  'reading-entrance',
  'rotation',
  'two-servers',
];

keepStateIn('postgres');

describe.each(FILES)('%s', async (name) => {
  // A copy of its own: these files hold what they have started.
  await import(/* @vite-ignore */ `../../keyserver/${name}.test.ts?on-postgres`);
});
