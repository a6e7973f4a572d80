import { beforeAll, expect, it } from 'vitest';
import { beginSubscription } from '../../keyserver/readers/subscribing.ts';
import { joinWithCode } from '../../keyserver/sign-in/accounts.ts';
import { signInPerson } from '../../keyserver/sign-in/openid-identities.ts';
import { endSessions, exportSubscriber, moveSubscriber, signUp } from '../../keyserver/sign-in/own-account.ts';
import { newestAudit } from '../../keyserver/storage/audit.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { renameSubscriber, revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { bind } from '../support/device.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import type { Reader } from '../support/reading-site-visitor.ts';
import { runWispr } from '../support/wispr.ts';

const rig = rigForFile();
let state: KeyServerState;
let reader: Reader;
beforeAll(async () => {
  ({ state } = rig.server);
  rig.writeConfig();
  await definePlan(state, { name: 'daily', sets: ['day-*'] });
  reader = await rig.join('ada', { plan: 'daily' });
});

const command = async (...args: string[]) => {
  const { code, stderr } = await runWispr(args, { cwd: rig.folder });
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
};
const named = async (name: string) => ({ id: await rig.idOf(name), name });
const person = (subject: string, mail: string) =>
  signInPerson(state, { issuer: 'https://id.example', subject, mail } as Parameters<typeof signInPerson>[1], 'daily');

const CHANGES: readonly [string, () => Promise<unknown>][] = [
  ['reader ada: device ada', async () => bind(rig.provider, await rig.codeFor('ada'))],
  ['reader ada: openid-linked ada@example.org', async () => person('1', 'ada@example.org')],
  ['reader new@example.org: openid-account new@example.org', () => person('2', 'new@example.org')],
  ['reader up@example.org: sign-up up@example.org', () => signUp(state, 'up@example.org', { plan: 'daily', days: 7 })],
  ['reader up@example.org: rename up2', async () => moveSubscriber(state, await named('up@example.org'), 'up2')],
  [
    'reader school 1: seat school',
    async () => joinWithCode(state, (await rig.codeFor('school', { plan: 'daily', seats: 2 })).replaceAll('-', '')),
  ],
  ['reader ada: password-removed ada', () => reader.post('/-/password', { remove: '1' })],
  ['reader ada: sessions-ended ada', () => reader.post('/-/sign-out-everywhere', {})],
  ['command: rename up3', () => command('admin', 'rename', 'up2', 'up3')],
  ['command: rotate recipient', () => command('admin', 'rotate', 'recipient')],
  ['command: rotate devices', () => command('admin', 'rotate', 'devices')],
  ['command: rotate httpcrypt', () => command('admin', 'rotate', 'httpcrypt')],
  ['command: rotate master', () => command('admin', 'rotate', 'master')],
  ['command: backup ', () => command('admin', 'backup', 'copy.db')],
];

it.each(CHANGES)('%s', async (wanted, change) => {
  if (wanted.includes('password-removed'))
    await reader.post('/-/password', { password: 'correct horse battery staple' });
  if (wanted.includes('linked')) await rig.invite({ name: 'ada@example.org', plan: 'daily' });
  await change();
  const rows = await newestAudit(state.database, {}, 3);
  expect(
    rows.map(({ who, action, about }) => `${who.replace(/^command .*/, 'command')}: ${action} ${about}`),
  ).toContain(wanted.replace('reader ada: openid', 'reader ada@example.org: openid'));
});

it('adds no row for a command that changes nothing (attack 135)', async () => {
  const ada = await named('ada');
  const repeated = [
    () => definePlan(state, { name: 'daily', sets: ['day-*'] }),
    () => beginSubscription(state, { subscriber: 'college', plan: 'daily', seats: 3, from: '2026-01-01' }),
    () => renameSubscriber(state, 'ada', 'ada'),
    () => endSessions(state, ada),
    () => revokeSubscriber(state, 'up3'),
  ];
  for (const change of repeated) await change();
  const before = await newestAudit(state.database, {}, 1);
  for (const change of repeated) await change();
  expect(await newestAudit(state.database, {}, 1)).toEqual(before);
});

it('"my data" has identities, plans, devices and the group', async () => {
  expect(await exportSubscriber(state, await rig.idOf('new@example.org'))).toMatchObject({
    subscriptions: [{}],
    identities: [{ issuer: 'https://id.example', subject: '2' }],
    passkeys: [],
    group: null,
  });
  expect(await exportSubscriber(state, await rig.idOf('school 1'))).toMatchObject({ group: 'school' });
  expect(await exportSubscriber(state, await rig.idOf('ada'))).toMatchObject({ devices: [{ kind: 'reader' }] });
});
