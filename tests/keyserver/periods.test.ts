/** Period keys, who gets them, and when: docs/spec/keys.md, "Period keys". By a real key server, as devices find it. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { BundledPeriod } from '../../core/keys/bundle.ts';
import { encodeKeyRequest } from '../../core/keys/key-request.ts';
import { periodAt } from '../../core/keys/set-time.ts';
import { unwrapKey } from '../../core/keys/wrapped-key.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { definePlan, listPlans } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { endSubscriptions, subscribe } from '../../keyserver/subscriptions/subscriptions.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type BoundDevice, bind, sendKeyRequest } from '../support/device.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { SITE, sealBundle, setOf } from '../support/publisher-with-sets.ts';

const ZONE = 'Pacific/Auckland';
/** Time, still the 15th in UTC. */
const START = Date.parse('2026-11-15T20:00Z') / 1000;
const NOVEMBER = periodAt('month', ZONE, START);
const DECEMBER = periodAt('month', ZONE, NOVEMBER.end);
const AHEAD = NOVEMBER.end - (DECEMBER.end - DECEMBER.start) / 4;

const rig = rigForFile({ sets: ['day-2026-11-16', 'day-2026-12-01', 'photos'], startAt: START });
const now = () => rig.server.state.now();
let serial = 2;
let periods: BundledPeriod[];
beforeAll(async () => {
  await definePlan(rig.server.state, { name: 'daily', sets: ['day-*', 'extra'], zone: ZONE });
  await definePlan(rig.server.state, { name: 'library', sets: ['photos'] });
  const dated = [NOVEMBER, DECEMBER].map((span) => periodOf('daily', ['day-*', 'extra'], span, ZONE));
  periods = await Promise.all([...dated, periodOf('library', ['photos'], periodAt('month', 'UTC', START))]);
  await handOver(periods);
});

async function periodOf(plan: string, sets: string[], span: typeof NOVEMBER, zone?: string): Promise<BundledPeriod> {
  const key = randomBytes(32);
  const named = { id: await keyIdOf('period', key), key: toBase64url(key), plan, sets, site: SITE };
  return { ...named, from: span.start, until: span.end - 1, ...(zone && { zone }) };
}

async function handOver(given: readonly BundledPeriod[]): Promise<void> {
  const { server, publisher, host } = rig;
  const origins = { keyServer: server.url, reading: server.readingUrl, content: host.origin };
  const bundle = { periods: given };
  const bytes = await sealBundle(publisher, server.state.recipient.publicKey, { ...origins, serial: serial++, bundle });
  await importBundle(server.state, bytes, server.origins);
}

const goTo = (time: number) => rig.passTime(time - now());

/** Devices bind by the clock of this machine. */
async function connect(name: string, set: string): Promise<BoundDevice> {
  const then = now();
  await rig.invite({ name, sets: [set] });
  goTo(nowInSeconds());
  const device = await bind(rig.provider, (await rig.invite({ name, sets: [set] })).code);
  goTo(then);
  return device;
}

async function subscriber(name: string, plan: string, from: number, until: number | null = null): Promise<BoundDevice> {
  const device = await connect(name, 'none');
  await subscribe(rig.server.state.database, await rig.idOf(name), plan, from, until);
  return device;
}

const NAMES = ['November', 'December', 'library'];

/** Returns what a device gets that asks for a set or something else: names of sets and periods. */
async function given({ deviceKey }: BoundDevice, set = 'day-2026-11-16', id?: string): Promise<string[]> {
  const asked = [id ?? setOf(rig.publisher, set).id];
  const request = await encodeKeyRequest(deviceKey, rig.server.url, asked, now());
  const { keys } = await sendKeyRequest(rig.server.url, deviceKey, request);
  const names = keys.map(async (wrapped) => {
    const key = toBase64url(await unwrapKey(deviceKey, wrapped, now()));
    const index = periods.findIndex((period) => period.key === key && wrapped.notAfter === period.until);
    return wrapped.kind === 'set' ? set : (NAMES[index] ?? '?');
  });
  return Promise.all(names);
}

describe('the key of a period', () => {
  beforeEach(() => goTo(START));

  it('goes to those who subscribed before it began and until it ends; that of the next one a quarter ahead', async () => {
    const ada = await subscriber('ada', 'daily', NOVEMBER.start);
    expect(await given(ada)).toEqual(['day-2026-11-16', 'November']);
    expect(await given(ada, undefined, periods[0]?.id)).toEqual(['November']); // a request by its id
    goTo(AHEAD - 1);
    expect(await given(ada)).toEqual(['day-2026-11-16', 'November']);
    goTo(AHEAD);
    expect(await given(ada)).toEqual(['day-2026-11-16', 'November', 'December']);
    goTo(NOVEMBER.end - 1);
    expect(await given(ada)).toEqual(['day-2026-11-16', 'November', 'December']);
    goTo(NOVEMBER.end);
    expect(await given(ada)).toEqual(['day-2026-11-16', 'December']);
  });

  it('is not for those who subscribed in the middle of it: their days, one by one, and the next period', async () => {
    const bert = await subscriber('bert', 'daily', NOVEMBER.start + 1);
    expect(await given(bert)).toEqual(['day-2026-11-16']);
    goTo(AHEAD);
    expect(await given(bert)).toEqual(['day-2026-11-16', 'December']);
  });

  it('attack 47: is not for those whose subscription ends before it does, has ended, or was revoked', async () => {
    const carla = await subscriber('carla', 'daily', NOVEMBER.start - 1, NOVEMBER.end - 2);
    const dora = await subscriber('dora', 'daily', NOVEMBER.start - 1, NOVEMBER.end - 1);
    expect([await given(carla), await given(dora)]).toEqual([['day-2026-11-16'], ['day-2026-11-16', 'November']]);
    goTo(AHEAD);
    expect([await given(carla), await given(dora)]).toEqual([['day-2026-11-16'], ['day-2026-11-16', 'November']]);
    await endSubscriptions(rig.server.state.database, await rig.idOf('dora'), now());
    expect(await given(dora)).toEqual(['day-2026-11-16']);
    expect(await given(dora, 'day-2026-12-01')).toEqual([]);
    await revokeSubscriber(rig.server.state, 'dora');
    expect(await given(dora)).toEqual([]);
  });

  it('is not for those who bought a set, who begin later, or who subscribe to something else', async () => {
    const emil = await connect('emil', 'day-2026-11-16');
    expect(await given(emil)).toEqual(['day-2026-11-16']);
    goTo(AHEAD);
    expect(await given(await subscriber('frieda', 'daily', DECEMBER.start))).toEqual([]);
    expect(await given(await subscriber('gustav', 'library', START), 'photos')).toEqual(['photos', 'library']);
  });

  it('of a plan that is not dated is for all who have subscribed, whenever that was', async () => {
    const hanna = await subscriber('hanna', 'library', START - 1);
    const ida = await subscriber('ida', 'library', START - 1, START + 86_400);
    expect(await given(hanna, 'photos')).toEqual(['photos', 'library']);
    expect(await given(ida, 'photos')).toEqual(['photos']);
  });

  it.each([
    ['more sets', { sets: ['day-*', 'extra', 'photos'] }, { sets: ['extra', 'day-*'] }],
    ['fewer sets', { sets: ['day-*'] }, { sets: ['extra', 'day-*'] }],
    ['another time zone', { zone: 'UTC' }, { zone: ZONE }],
    ['no time zone', { zone: '' }, { zone: ZONE }],
  ])('is not given where the key server has %s for the plan', async (_what, change, back) => {
    const { state } = rig.server;
    const plan = async () => (await listPlans(state)).find(({ name }) => name === 'daily')?.periodKeys;
    const jens = await subscriber('jens', 'daily', NOVEMBER.start);
    await definePlan(state, { name: 'daily', ...change });
    expect([await given(jens), await plan()]).toEqual([['day-2026-11-16'], 'different']);
    await definePlan(state, { name: 'daily', ...back });
    expect([await given(jens), await plan()]).toEqual([['day-2026-11-16', 'November'], 'given']);
  });

  it('is gone with the bundle that does not have it', async () => {
    const kora = await subscriber('kora', 'daily', NOVEMBER.start);
    await handOver(periods.slice(1));
    expect(await given(kora)).toEqual(['day-2026-11-16']);
    await handOver(periods);
    expect(await given(kora)).toEqual(['day-2026-11-16', 'November']);
  });

  it('attack 91: swapped with another in the database is not given', async () => {
    const { database } = rig.server.state;
    const lea = await subscriber('lea', 'daily', NOVEMBER.start);
    const sql = 'UPDATE periods SET sealed = (SELECT sealed FROM periods WHERE id = ?) WHERE id = ?';
    await database.run(sql, periods[1]?.id ?? '', periods[0]?.id ?? '');
    await expect(given(lea)).rejects.toThrow('500');
    await handOver(periods);
  });
});
