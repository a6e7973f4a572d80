import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BINDING_PATH } from '../../core/keys/binding.ts';
import { importSubscribers } from '../../keyserver/readers/import-subscribers.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { seatsOf } from '../../keyserver/subscriptions/seats.ts';
import { findSubscriber, revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { endSubscriptions } from '../../keyserver/subscriptions/subscriptions.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askForKeys, type BoundDevice, bind, bindingRequest, createDeviceKeys, post } from '../support/device.ts';
import { rigForFile, rigForTest } from '../support/keyserver-rig.ts';
import { setOf } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { runWispr } from '../support/wispr.ts';

const PASSWORD = 'a long password';
const GROUP = 'Library of Rope Walk';
// The rig's clock stays behind that of this machine, which commands go by, also after a second that a test lets pass.
const startAt = nowInSeconds() - 10;
const rig = rigForFile({ sets: ['photos-1'], config: { limits: { devices: 2 } }, startAt });
let configFile: string;
beforeAll(async () => {
  await definePlan(rig.server.state, { name: 'institution', title: 'For libraries', sets: ['photos-*'] });
  configFile = rig.writeConfig();
});

const photos = () => setOf(rig.publisher, 'photos-1').id;
const readsWith = async (device: BoundDevice) => (await askForKeys(device, [photos()])).refused[0]?.reason ?? 'reads';
const wispr = (...args: string[]) => runWispr([...args, '-c', configFile]);
const nameOf = (page: { text: string }) => /class="lead"><strong>([^<]*)/.exec(page.text)?.[1];

async function tryBinding(code: string) {
  const request = bindingRequest(await createDeviceKeys(rig.provider), rig.provider, code);
  const answer = await post(rig.server.url, BINDING_PATH, request);
  return { status: answer.status, ...((await answer.json()) as { error?: string }) };
}

async function joinWith(code: string, fields: Record<string, string> = {}) {
  const browser = createVisitor(rig.server.readingUrl);
  const joined = await browser.post('/-/join', { code, ...fields });
  return { browser, joined, account: await browser.get('/-/account') };
}

describe('a group', () => {
  let code: string;
  beforeEach(async () => {
    if (await findSubscriber(rig.server.state.database, GROUP)) await revokeSubscriber(rig.server.state, GROUP);
    ({ code } = await rig.invite({ name: GROUP, plan: 'institution', seats: 3 }));
  });

  it('has a seat for each who uses its invitation, and says when all are taken', async () => {
    const readers = [await bind(rig.provider, code), await bind(rig.provider, code)];
    const { browser, account } = await joinWith(code);
    expect(nameOf(account)).toMatch(/^Library of Rope Walk \d+$/);
    expect(account.text).toContain('For libraries');
    expect(await Promise.all(readers.map(readsWith))).toEqual(['reads', 'reads']);
    expect(await tryBinding(code)).toEqual({ status: 409, error: 'seats-taken' });
    const { joined } = await joinWith(code, { password: PASSWORD });
    expect([joined.status, joined.text.includes('All seats of this invitation are taken')]).toEqual([409, true]);
    const stranger = createVisitor(rig.server.readingUrl);
    expect((await stranger.post('/-/invitation', { code })).status).toBe(409);
    // A reader who has a seat takes no second one, with the link opened again or an answer that was lost.
    expect(JSON.parse((await browser.post('/-/invitation', { code })).text)).toMatchObject({
      name: GROUP,
      again: true,
      includes: expect.stringMatching(/^A place of 3 at Library of Rope Walk\. For libraries, /),
    });
    expect((await browser.join(code)).status).toBe(200);
    expect(nameOf(await browser.get('/-/account'))).toBe(nameOf(account));
    expect(await readsWith(await bind(rig.provider, code, readers[0]?.keys))).toBe('reads');
  });

  it('has no more members than seats, however many ask at once', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => tryBinding(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409, 409]);
  });

  it('has its seat taken for as long as keys of a member who has left (attack 138)', async () => {
    const { state } = rig.server;
    const link = await rig.invite({ name: 'Reading Room', plan: 'institution', seats: 1 });
    const { id = 0 } = (await findSubscriber(state.database, 'Reading Room')) ?? {};
    const { browser } = await joinWith(link.code);
    const connect = JSON.parse((await browser.post('/-/connect-reader', { as: 'json' })).text).link as string;
    expect(await readsWith(await bind(rig.provider, connect.split(/[#.]/).at(-2) ?? ''))).toBe('reads');
    await browser.post('/-/delete', {});
    expect((await joinWith(link.code)).joined.status).toBe(409);
    const later = { ...state, now: () => state.now() + 30 * 86_400 + 1 };
    expect(await seatsOf(state, id)).toEqual({ seats: 1, taken: 1 });
    expect(await seatsOf(later, id)).toEqual({ seats: 1, taken: 0 });
  });

  it('gives its rights to members, for as long as it has them', async () => {
    const { state } = rig.server;
    const member = await bind(rig.provider, code);
    const id = (await findSubscriber(state.database, GROUP))?.id ?? 0;
    rig.passTime(1);
    await endSubscriptions(state.database, id, state.now());
    rig.passTime(1);
    expect(await readsWith(member)).toBe('lapsed');
    await rig.invite({ name: GROUP, plan: 'institution' });
    expect(await readsWith(member)).toBe('reads');
  });

  it('loses a member who is removed, whose seat is free then, and all members when it is revoked', async () => {
    const { account } = await joinWith(code);
    const [one, two] = [await bind(rig.provider, code), await bind(rig.provider, code)];
    const removed = nameOf(account) ?? '';
    expect((await wispr('admin', 'revoke', removed)).stderr).toContain(`${removed} is revoked: 0 devices`);
    const three = await bind(rig.provider, code);
    const dry = await wispr('admin', 'revoke', GROUP, '--dry-run');
    expect(dry.stderr).toContain(`${GROUP} and its 3 members would be revoked: 3 devices refused`);
    expect(await Promise.all([one, two, three].map(readsWith))).toEqual(['reads', 'reads', 'reads']);
    await wispr('admin', 'revoke', GROUP);
    expect(await Promise.all([one, two, three].map(readsWith))).toEqual(['revoked', 'revoked', 'revoked']);
    expect(await tryBinding(code)).toEqual({ status: 403, error: 'code-refused' });
    // A person who is invited by name later is a subscriber of their own.
    await rig.invite({ name: removed, plan: 'institution' });
    expect((await wispr('admin', 'why', removed, 'photos-1')).stdout).toBe(
      `${removed} can read the set photos-1: plan institution from ${new Date(rig.server.state.now() * 1000).toISOString().slice(0, 10)}\n`,
    );
  });

  it('has one open invitation: a new one replaces it, and it can be taken back', async () => {
    const invited = await wispr('invite', GROUP, '--seats', '4');
    expect(invited.stderr).toContain('0 of 4 seats are taken');
    expect(invited.stderr).toContain('it works for each free seat');
    expect(await tryBinding(code)).toEqual({ status: 403, error: 'code-refused' });
    const newer = invited.stdout.split('#')[1]?.slice(0, 19) ?? '';
    expect((await tryBinding(newer)).status).toBe(200);
    expect((await wispr('invite', GROUP, '--remove')).stderr).toContain('1 open invitation of');
    expect(await tryBinding(newer)).toEqual({ status: 403, error: 'code-refused' });
    const list = (await wispr('admin', 'list')).stdout;
    expect(list).toContain('1 of 4 seats taken');
    expect(list).toContain(`member of ${GROUP}`);
  });

  it('comes from lists and says who is a member, why', async () => {
    const list = Buffer.from('name,plan,seats\nSchool,institution,30\nAda,institution,\n');
    await importSubscribers(rig.server.state, list);
    const { stdout } = await wispr('admin', 'list', '--json');
    const listed = JSON.parse(stdout).subscribers as { name: string; seats: number | null; taken: number }[];
    expect(listed.find(({ name }) => name === 'School')).toMatchObject({ seats: 30, taken: 0 });
    expect(listed.find(({ name }) => name === 'Ada')).toMatchObject({ seats: null });
    const { account } = await joinWith(code);
    const why = await wispr('admin', 'why', nameOf(account) ?? '', 'photos-1');
    expect(why.stdout).toContain(`, a member of ${GROUP}, can read the set photos-1: plan institution`);
  });

  it.each([
    ['Ada', 0],
    ['Ada', 1.5],
    ['x'.repeat(248), 3],
  ])('%s with %s seats is refused', async (name, seats) => {
    await expect(rig.invite({ name, plan: 'institution', seats })).rejects.toMatchObject({ code: 'argument-invalid' });
  });

  it('cannot be made of a member', async () => {
    const { account } = await joinWith(code);
    const member = nameOf(account) ?? '';
    await expect(rig.invite({ name: member, seats: 9 })).rejects.toMatchObject({ code: 'argument-invalid' });
  });
});

it('attack 133: the code of a group proves no copied session of a member', async () => {
  const own = await rigForTest();
  const code = await own.codeFor('School', { seats: 5 });
  const copied = createVisitor(own.server.readingUrl);
  await copied.join(code);
  own.passTime(3600);
  expect((await copied.join(code)).status).toBe(200);
  expect((await copied.post('/-/connect-reader', { as: 'json' })).status).toBe(403);
});

describe('devices', () => {
  it('are as many as the limit; a further Reader is told, and may take the place of one that is removed', async () => {
    const codes = await Promise.all([1, 2, 3].map(async () => await rig.codeFor('bert')));
    const { keys } = await bind(rig.provider, codes[0] ?? '');
    await bind(rig.provider, codes[1] ?? '');
    expect(await tryBinding(codes[2] ?? '')).toEqual({ status: 409, error: 'too-many-devices' });
    // A Reader that connects again is counted once.
    const first = await bind(rig.provider, codes[0] ?? '', keys);
    const lost = first.deviceKey.id.slice(0, 8);
    expect((await wispr('admin', 'device', 'Bert')).stdout).toMatch(new RegExp(`^${lost}  Reader, connected`, 'm'));
    expect((await wispr('admin', 'device', 'bert', '--remove', 'AAAAAAAA')).code).toBe(2);
    expect((await wispr('admin', 'device', 'bert', '--remove', lost)).stderr).toContain('is removed');
    expect(await readsWith(first)).toBe('revoked');
    expect((await tryBinding(codes[2] ?? '')).status).toBe(200);
  });

  it('stay with a subscriber who gets another name, as the password does', async () => {
    const code = await rig.codeFor('carla@old.example');
    const device = await bind(rig.provider, code);
    await joinWith(await rig.codeFor('carla@old.example'), { password: PASSWORD });
    await rig.invite({ name: 'dora' });
    expect((await wispr('admin', 'rename', 'carla@old.example', 'DORA')).stderr).toContain('there is a subscriber');
    expect((await wispr('admin', 'rename', 'carla@old.example', 'Carla@new.example')).code).toBe(0);
    expect(await readsWith(device)).toBe('reads');
    const browser = createVisitor(rig.server.readingUrl);
    const signIn = (name: string) => browser.signIn(name, PASSWORD);
    expect((await signIn('carla@old.example')).status).toBe(403);
    expect((await signIn('carla@NEW.example')).status).toBe(303);
    expect((await wispr('admin', 'rename', 'nobody', 'x')).code).toBe(2);
  });
});
