import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { overview } from '../../keyserver/operators/overview.ts';
import { checkToken } from '../../keyserver/publication/tokens.ts';
import { findSession, joinWithCode } from '../../keyserver/readers/accounts.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { SCHEMA_VERSION } from '../../keyserver/storage/migrations.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { newPostgresUrl } from '../support/postgres.ts';

/** When the key server of version 3 made its database, which is version-3.sql, and what it gave out then. */
const MADE = 4_000_000_000;
const MASTER_KEY = 'wispr-master-key/1\n1 HmpQp5v4YBtvEAKtLfGR4ab9BDjEI4TMGTVtJgG4zM8\n';
const SESSION = 'OlRmjWsgbT2Ltp1K5FyV9nnuK61L2L7qGuqloNKPyoI';
const CODE = 'NQKYMJ4BCKMFPNC9';
const TOKEN = 'wispr-publish-UCi88-tt304xTVRZvNAOsPBUysRzfGM4QqLAy_HBDt8';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  writeFileSync(join(folder, 'master.key'), MASTER_KEY, { mode: 0o600 });
});
afterEach(() => rmSync(folder, { recursive: true }));

it('a database of version 3 goes on with what is in it, and is of the newest version', async () => {
  const config = configIn(folder);
  const before = new DatabaseSync(join(folder, 'keyserver.db'), { enableForeignKeyConstraints: false });
  before.exec(readFileSync(new URL('version-3.sql', import.meta.url), 'utf8'));
  before.close();
  for (let start = 1; start <= 2; start++) {
    const state = await openState(config, () => MADE);
    expect(await state.database.first('PRAGMA user_version')).toEqual({ user_version: SCHEMA_VERSION });
    expect(await state.database.all('PRAGMA index_info(invitations_subscriber)')).toHaveLength(1);
    expect(await findSession(state, SESSION)).toMatchObject({ name: 'Ada' });
    expect(await checkToken(state, `Bearer ${TOKEN}`, 'publish')).toBe('ci');
    if (start === 1) expect((await joinWithCode(state, CODE)).subscriber.name).toBe('Ben');
    else await expect(joinWithCode(state, CODE)).rejects.toMatchObject({ code: 'code-refused' });
    await state.database.close();
  }
});

it('on PostgreSQL several processes take the steps at once, each of them once', async () => {
  rmSync(join(folder, 'master.key'));
  const config = { ...configIn(folder), data: undefined, database: await newPostgresUrl() };
  const first = await openState(config);
  await inviteSubscriber(first, { name: 'ada' });
  for (const undo of [
    'DROP INDEX invitations_subscriber',
    'DROP TABLE mail_codes',
    'DROP TABLE wrong_mail_codes',
    'DROP TABLE sign_ups',
    'ALTER TABLE sessions DROP COLUMN proven',
    'ALTER TABLE invitations DROP COLUMN own',
    'DROP TABLE subscriptions',
    'DROP TABLE plans',
    'DROP TABLE periods',
    'ALTER TABLE tokens DROP COLUMN scope',
    'ALTER TABLE subscribers DROP COLUMN seats',
    'ALTER TABLE subscribers DROP COLUMN member_of',
    'DROP TABLE entitlements',
    'DROP TABLE passkey_challenges',
    'DROP TABLE reader_passkeys',
    'DROP TABLE identities',
    'DROP TABLE audit_news',
    'DROP TABLE audit',
    'DROP TABLE counts',
    'DROP INDEX devices_last_seen',
    'DROP INDEX subscribers_revoked',
    'DROP TABLE operator_links',
    'DROP TABLE operator_sessions',
    'DROP TABLE operator_passkeys',
    'DROP TABLE operators',
    'DROP TABLE secrets',
    'DROP TABLE former_recipients',
    'DROP TABLE failures',
    'DROP TABLE ticket_key',
  ])
    await first.database.run(undo);
  await first.database.run('UPDATE wispr_key_server SET version = 3');
  const states = await Promise.all([1, 2, 3].map(() => openState(config)));
  const sql = "SELECT indexname FROM pg_indexes WHERE indexname = 'invitations_subscriber'";
  expect(await first.database.all(sql)).toHaveLength(1);
  for (const state of [first, ...states]) {
    expect(await state.database.first('SELECT version FROM wispr_key_server')).toEqual({ version: SCHEMA_VERSION });
    expect((await overview(state)).subscribers.map(({ name }) => name)).toEqual(['ada']);
    await state.database.close();
  }
});
