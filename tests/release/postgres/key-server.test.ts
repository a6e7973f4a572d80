/** State of key servers on PostgreSQL: the same tests, word for word; tests/keyserver/on-postgres.test.ts has those of the store itself. */
import { describe } from 'vitest';
import { keepStateIn } from '../../support/store.ts';

const FILES = [
  ...['admin-store', 'audit', 'bindings', 'browser-devices', 'commands', 'groups', 'import-bundle', 'key-requests'],
  ...['lost-access', 'mail', 'mailing', 'openid', 'paywall', 'periods', 'plans', 'processes', 'publication-hand-over'],
  ...['reading-entrance', 'rotation', 'till'],
];

keepStateIn('postgres');

describe.each(FILES)('%s', async (name) => {
  // A copy of its own: these files hold what they have started.
  await import(/* @vite-ignore */ `../../keyserver/${name}.test.ts?on-postgres`);
});
