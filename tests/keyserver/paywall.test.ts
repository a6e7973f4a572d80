/** The publisher's own paywall is asked who may read what: a real one, over HTTP, that is slow, down, lies and returns junk. */
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../keyserver/config/config.ts';
import { inviteAgain } from '../../keyserver/readers/invitations.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { createPaywall } from '../../keyserver/subscriptions/paywall.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { findSubscriber, revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { plansOf } from '../../keyserver/subscriptions/subscriptions.ts';
import { askForKeys, bind } from '../support/device.ts';
import { forFile } from '../support/for-file.ts';
import { rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';
import { startPaywall } from '../support/paywall.ts';
import { setOf } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { runWispr } from '../support/wispr.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const dateOf = (time: number) => new Date(time * 1000).toISOString().slice(0, 10);
const START = Math.floor(Date.now() / 1000);
const [TODAY, LATER] = [`day-${dateOf(START)}`, `day-${dateOf(START + 20 * DAY)}`];
const SETS = [TODAY, LATER, 'photos'];

const paywall = forFile(() => startPaywall(SECRET));
const rig = rigForFile(() => {
  const secretFile = join(temporaryFolder(), 'paywall.secret');
  writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
  const entitlement = { url: paywall.url, secretFile, cacheMinutes: 15, outageHours: 72 };
  return { sets: SETS, config: { entitlement }, startAt: START };
});
const now = () => rig.server.state.now();
beforeAll(async () => {
  await definePlan(rig.server.state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'], zone: 'UTC' });
  await definePlan(rig.server.state, { name: 'pictures', sets: ['photos'] });
});
afterEach(() => {
  rig.passTime(START - now());
  paywall.answer = { plans: [] };
  paywall.asked.length = 0;
});

/** A subscriber of whom nothing is noted yet. */
async function known(name: string): Promise<string> {
  await inviteAgain(rig.server.state, name);
  return name;
}

const down = (response: ServerResponse) => response.destroy();
const held = (plan: string, from: number, until: number | null) => ({ plans: [{ plan, from, until }] });

describe('the paywall', () => {
  it('says who may read what; devices and accounts get it, and within the time it is not asked again', async () => {
    const { code } = await inviteAgain(rig.server.state, 'ada@example.org');
    const device = await bind(rig.provider, code);
    paywall.answer = held('pictures', START - DAY, START + DAY);
    const photos = setOf(rig.publisher, 'photos').id;
    const answers = await Promise.all([1, 2, 3].map(() => askForKeys(device, [photos])));
    expect(answers.map(({ keys }) => keys.length)).toEqual([1, 1, 1]);
    expect(paywall.asked).toEqual(['ada@example.org']);
    const browser = createVisitor(rig.server.readingUrl);
    await browser.join((await inviteAgain(rig.server.state, 'ada@example.org')).code);
    expect((await browser.get('/-/account')).text).toContain('pictures');
    expect(paywall.asked).toHaveLength(1);
    paywall.answer = { plans: [] };
    rig.passTime(15 * MINUTE);
    expect((await browser.get('/-/account')).text).toContain('ended on');
    expect(await rig.readableBy('ada@example.org')).toEqual([]);
    expect(paywall.asked).toHaveLength(2);
    expect(rig.log()).not.toContain('ada');
  });

  it('is not asked twice by two key servers on one database', async () => {
    await known('bert');
    const other = await openState(rig.config, now);
    const second = createPaywall(rig.config, other, { warn: () => undefined });
    const id = (await findSubscriber(other.database, 'bert'))?.id ?? 0;
    for (let round = 1; round <= 3; round++) {
      await Promise.all([second?.renew(id), rig.server.state.renewRights?.(id), second?.renew(id)]);
      expect(paywall.asked).toHaveLength(round);
      rig.passTime(15 * MINUTE);
    }
    await second?.close();
    await other.database.close();
  });

  it('takes away what it no longer names, but not the days that were subscribed', async () => {
    await known('carla');
    paywall.answer = held('daily', START - DAY, null);
    expect(await rig.readableBy('carla')).toEqual([TODAY]);
    rig.passTime(15 * MINUTE);
    paywall.answer = { plans: [] };
    expect(await rig.readableBy('carla')).toEqual([TODAY]);
    rig.passTime(START - (START % DAY) + 20.5 * DAY - now()); // noon: minutes later it is the same day
    // A plan that begins anew, with a beginning that moves, takes away nothing that was had before.
    for (const from of [now(), now() + 15 * MINUTE]) {
      paywall.answer = held('daily', from, from + DAY);
      expect(await rig.readableBy('carla')).toEqual([TODAY, LATER]);
      rig.passTime(15 * MINUTE);
    }
    const id = await rig.idOf('carla');
    expect(await plansOf(rig.server.state.database, id)).toHaveLength(2);
  });

  it('is asked about the group of a member, and about no revoked subscriber', async () => {
    const { code } = await rig.invite({ name: 'School', sets: [], seats: 2 });
    const device = await bind(rig.provider, code);
    paywall.answer = held('pictures', START, null);
    expect((await askForKeys(device, [setOf(rig.publisher, 'photos').id])).keys).toHaveLength(1);
    expect(paywall.asked).toEqual(['School']);
    await revokeSubscriber(rig.server.state, 'School');
    rig.passTime(HOUR);
    expect(await rig.readableBy('School')).toEqual([]);
    expect(paywall.asked).toHaveLength(1);
    await expect(inviteAgain(rig.server.state, 'School')).rejects.toMatchObject({ code: 'revoked' });
  });

  it('is asked for "wispr admin why"; "wispr invite" grants nothing by itself', async () => {
    const file = rig.writeConfig();
    const invited = await runWispr(['invite', 'dora', '-c', file]);
    expect(invited.stderr).toContain('dora is a new subscriber: nothing that is noted here');
    paywall.answer = held('pictures', START, START + DAY);
    const why = await runWispr(['admin', 'why', 'dora', 'photos', '-c', file]);
    expect(why.stdout).toContain('dora can read the set photos: plan pictures');
  });
});

describe('a paywall that is down', () => {
  it('is survived for the time of an outage; then plans without an end count no more, and others until their end', async () => {
    await known('emil');
    const { plans } = held('pictures', START, null);
    paywall.answer = { plans: [...plans, ...held('daily', START, START + 30 * DAY).plans] };
    expect(await rig.readableBy('emil')).toEqual([TODAY, LATER, 'photos']);
    paywall.answer = down;
    rig.passTime(72 * HOUR);
    expect(await rig.readableBy('emil')).toEqual([TODAY, LATER, 'photos']);
    rig.passTime(1);
    expect(await rig.readableBy('emil')).toEqual([TODAY, LATER]);
    const asked = paywall.asked.length;
    await rig.readableBy('emil');
    expect(paywall.asked).toHaveLength(asked); // requests share an answer
    paywall.answer = held('pictures', START, null);
    rig.passTime(MINUTE);
    expect(await rig.readableBy('emil')).toEqual([TODAY, 'photos']);
    expect(rig.log().match(/the paywall gives no usable answer/g)).toHaveLength(1);
    expect(rig.log()).toContain('the paywall answers again');
  });

  it('is waited for no longer than two seconds', async () => {
    await known('frieda');
    const open: ServerResponse[] = [];
    paywall.answer = (response: ServerResponse) => {
      open.push(response);
      response.write('{"plans":');
    };
    expect(await rig.readableBy('frieda')).toEqual([]);
    expect(open).toHaveLength(1);
  });
});

describe('an answer that is none', () => {
  const text =
    (body: string | Buffer, status = 200) =>
    (response: ServerResponse) =>
      void response.writeHead(status).end(body);
  const good = JSON.stringify(held('pictures', START, START + DAY));
  const GZIP = { 'content-encoding': 'gzip' };

  it.each([
    ['no JSON', text('<html>')],
    ['not in UTF-8', text(Buffer.from(good.replace('pictures', 'pict\u00ff'), 'latin1'))],
    ['another status', text(good, 201)],
    ['an error', text(good, 503)],
    ['no plans', { plan: 'pictures' }],
    ['a member too many', { ...held('pictures', START, null), admin: true }],
    ['times in milliseconds', held('pictures', START * 1000, null)],
    ['an end before its beginning', held('pictures', START, START - 1)],
    ['times that are no whole numbers', held('pictures', START - 0.5, null)],
    ['too many plans', { plans: Array(101).fill({ plan: 'pictures', from: START, until: null }) }],
    ['too long', text(`${' '.repeat(70_000)}${good}`)],
    ['a compressed one', (response: ServerResponse) => void response.writeHead(200, GZIP).end('x')],
  ])('%s: the last one counts', async (what, junk) => {
    const name = await known(`gustav ${what.replace(/\W/g, ' ')}`);
    paywall.answer = junk;
    expect(await rig.readableBy(name)).toEqual([]);
    paywall.answer = held('pictures', START, START + DAY);
    rig.passTime(MINUTE);
    expect(await rig.readableBy(name)).toEqual(['photos']);
    paywall.answer = junk;
    rig.passTime(15 * MINUTE);
    expect(await rig.readableBy(name)).toEqual(['photos']);
  });

  it('is not looked for elsewhere: no redirect is followed', async () => {
    const other = await startPaywall(SECRET);
    await known('hanna');
    paywall.answer = (response: ServerResponse) => void response.writeHead(307, { location: other.url }).end();
    other.answer = held('pictures', START, null);
    expect(await rig.readableBy('hanna')).toEqual([]);
    expect(other.asked).toEqual([]);
    await other.close();
  });

  it('may name plans that there are not, and one plan several times', async () => {
    await known('ida');
    const plan = (from: number, until: number) => ({ plan: 'pictures', from: START + from, until: START + until });
    paywall.answer = { plans: [{ ...plan(0, 9), plan: 'print' }, plan(-9, -5), plan(-3, 9), plan(0, 5)] };
    expect(await rig.readableBy('ida')).toEqual(['photos']);
    const id = await rig.idOf('ida');
    expect(await plansOf(rig.server.state.database, id)).toMatchObject([plan(-9, -5), plan(-3, 9)]);
    expect(rig.log()).toContain('named a plan that there is not');
  });
});

describe('a configuration', () => {
  const file = join(temporaryFolder(), 'keyserver.json');
  const withEntitlement = (entitlement: object) => {
    const { dev: _, ...config } = rig.config;
    writeFileSync(file, JSON.stringify({ ...config, entitlement }));
    return () => readConfig(file);
  };

  it.each([
    'http://paywall.news.example/wispr',
    'https://user:pass@paywall.news.example/',
    'ftp://127.0.0.1/',
    'paywall',
  ])('with the address %s is refused', (url) => {
    expect(withEntitlement({ url, secretFile: 'x' })).toThrow('must be an https address');
  });

  it.each(['', 'secret', 'whsec_AAAA', `whsec_${'A'.repeat(100)}`])('with the secret %j is refused', (secret) => {
    const secretFile = join(temporaryFolder(), 'secret');
    writeFileSync(secretFile, secret, { mode: 0o600 });
    const config = withEntitlement({ url: 'https://paywall.news.example/wispr', secretFile })();
    expect(() => createPaywall(config, rig.server.state, { warn: () => undefined })).toThrow(/secret|empty/);
  });
});
