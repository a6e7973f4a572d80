/** The audit trail: who is named in it, that it cannot fork, and that what was changed in it is found. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { importSubscribers } from '../../keyserver/readers/import-subscribers.ts';
import { inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import {
  type AuditRow,
  as,
  audit,
  auditFrom,
  auditLine,
  chainAudit,
  newestAudit,
} from '../../keyserver/storage/audit.ts';
import { checkAudit } from '../../keyserver/storage/audit-check.ts';
import type { Database } from '../../keyserver/storage/database.ts';
import { type KeyServerState, openState } from '../../keyserver/storage/state.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { runWispr } from '../support/wispr.ts';

const rig = rigForFile();
let state: KeyServerState;
let other: KeyServerState;
let database: Database;
beforeAll(async () => {
  ({ state } = rig.server);
  ({ database } = state);
  other = await openState(rig.config, state.now);
  rig.writeConfig();
  await definePlan(state, { name: 'daily', sets: ['day-*'] });
});
afterAll(() => other?.database.close());

const rowsAbout = async (about: string): Promise<AuditRow[]> => newestAudit(database, { about }, 10);
const whoAbout = async (about: string) => (await rowsAbout(about)).map(({ who, action }) => `${who}: ${action}`);

async function exported(): Promise<string[]> {
  const lines: string[] = [];
  for await (const row of auditFrom(database)) lines.push(auditLine(row));
  return lines;
}

it('names who changed what: commands, tokens and readers', async () => {
  expect((await runWispr(['invite', 'ada', '--plan', 'daily'], { cwd: rig.folder })).code).toBe(0);
  const { token } = await createToken(as(state, 'operator odile'), 'shop', 30, 'subscriptions');
  const headers = { authorization: `Bearer ${token}` };
  const body = JSON.stringify({ subscriber: 'ADA', plan: 'daily', until: '2099-12-31' });
  const begin = () => request(`${rig.server.url}/v1/subscriptions/begin`, { method: 'POST', headers, body });
  for (const answer of [await begin(), await begin()]) expect(answer.statusCode).toBe(200);
  await rig.join('ada', {}, 'correct horse battery staple');
  expect(await whoAbout('ada')).toEqual([
    'reader ada: password',
    'server: invite',
    'token shop: begin',
    `command ${userInfo().username}: invite`,
  ]);
  expect(await whoAbout('shop')).toEqual(['operator odile: token']);
  const [, , moved] = await rowsAbout('ada');
  expect(moved?.details).toMatchObject({ plan: 'daily', outcome: 'moved', until: Date.parse('2100-01-01') / 1000 - 1 });
});

it('has a row of each list that was taken, and none of a change that was refused or only tried', async () => {
  const before = await chainAudit(database);
  const list = Buffer.from('name,plan\nbert,daily\ncarla,daily\n');
  await importSubscribers(state, list, { dryRun: true });
  await revokeSubscriber(state, 'ada', { dryRun: true });
  await expect(definePlan(state, { name: 'new' })).rejects.toThrow();
  const failing = database.transaction(async () => {
    await audit(state, 'test', 'rolled back');
    throw new Error('later');
  });
  await expect(failing).rejects.toThrow('later');
  expect(await chainAudit(database)).toEqual(before);
  await importSubscribers(state, list);
  const sha256 = createHash('sha256').update(list).digest('hex');
  const [row] = await newestAudit(database, {}, 1);
  expect(row).toMatchObject({ action: 'import-list', details: { created: 2, begun: 2, sha256 } });
});

it('does not fork where two processes write, and loses nothing', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `many${index}`);
  await Promise.all(names.map((name, index) => inviteSubscriber(index % 2 ? state : other, { name })));
  await Promise.all([chainAudit(database), chainAudit(other.database), chainAudit(database)]);
  const rows = await newestAudit(database, {}, names.length);
  expect(new Set(rows.map(({ about }) => about))).toEqual(new Set(names));
  expect((await checkAudit(other.database)).problem).toBe(undefined);
});

it('can be checked by its export alone, without this program', async () => {
  const lines = await exported();
  let previous = '';
  for (const [index, line] of lines.entries()) {
    const row = JSON.parse(line);
    expect([row.number, row.previous]).toEqual([index + 1, previous]);
    const hashed = line.replace(`"hash":"${row.hash}",`, '');
    previous = row.hash;
    expect(createHash('sha256').update(hashed).digest('base64url')).toBe(row.hash);
  }
});

it('is found changed: a row altered, removed, put in or cut off, and an export that is another one', async () => {
  const lines = await exported();
  const last = lines.length;
  const tampered: [string, string][] = [
    ["UPDATE audit SET who = 'operator eve' WHERE number = 2", 'row 2 was changed'],
    ["UPDATE audit SET details = '{' WHERE number = 3", 'row 3 was changed'],
    ['DELETE FROM audit WHERE number = 2', 'row 2 is missing'],
    ['DELETE FROM audit WHERE number = 1', 'row 1 is missing'],
    [`DELETE FROM audit WHERE number = ${last}`, `row ${last} is missing`],
    ['UPDATE audit SET number = 1000 WHERE number = 2', 'row 2 is missing'],
  ];
  for (const [sql, problem] of tampered) {
    const undo = new Error('undo');
    const look = database.transaction(async () => {
      expect(await database.run(sql)).toBe(1);
      expect((await checkAudit(database, lines)).problem).toBe(problem);
      throw undo;
    });
    await expect(look).rejects.toBe(undo);
  }
  expect(await checkAudit(database, lines)).toMatchObject({ rows: last, problem: undefined });
  const [first = '', ...rest] = lines;
  const other = first.replace(/"time":\d+/, '"time":1');
  expect((await checkAudit(database, [other, ...rest])).problem).toBe('row 1 is another one in the export');
  expect((await checkAudit(database, ['no row'])).problem).toBe('a line of the export is no row');
});

it('the command shows, exports and checks it', async () => {
  const { stdout } = await runWispr(['admin', 'audit', '--json'], { cwd: rig.folder });
  expect(stdout.trimEnd().split('\n')).toEqual(await exported());
  writeFileSync(join(rig.folder, 'export'), stdout);
  const good = await runWispr(['admin', 'audit', '--verify', 'export'], { cwd: rig.folder });
  expect(good).toMatchObject({ code: 0 });
  expect(good.stderr).toContain((await chainAudit(database))?.hash);
  writeFileSync(join(rig.folder, 'export'), stdout.replace('"about":"ada"', '"about":"eve"'));
  expect(await runWispr(['admin', 'audit', '--verify', 'export'], { cwd: rig.folder })).toMatchObject({ code: 3 });
  const none = await runWispr(['admin', 'audit', '--since', '2999-01-01'], { cwd: rig.folder });
  expect(none).toMatchObject({ code: 0, stdout: '' });
});
