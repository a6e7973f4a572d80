/** Keys that a publisher is told to replace, because somebody may have them who cannot read any more. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FORMER_READERS_PATH } from '../../core/publication/hand-over.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { grant } from '../../keyserver/readers/invitations.ts';
import { deleteSubscriber } from '../../keyserver/sign-in/own-account.ts';
import { keysOfFormerReaders } from '../../keyserver/subscriptions/lost-access.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { endSubscriptions, subscribe } from '../../keyserver/subscriptions/subscriptions.ts';
import { type Rig, rigForTest } from '../support/keyserver-rig.ts';
import { createReader } from '../support/reading-site-visitor.ts';

const DAY = 86_400;
const START = Math.floor(Date.parse('2026-11-20T12:00:00Z') / 1000);

let rig: Rig;
beforeEach(async () => {
  rig = await rigForTest({ sets: ['day-2026-11-20', 'gold', 'photos'], startAt: START });
  const { state } = rig.server;
  await definePlan(state, { name: 'daily', sets: ['day-*'], zone: 'UTC' });
  await definePlan(state, { name: 'pictures', sets: ['photos'] });
  await definePlan(state, { name: 'all', sets: ['gold', 'photos'] });
});

const pass = (days: number) => rig.passTime(days * DAY);
const state = () => rig.server.state;

async function lost(): Promise<string[]> {
  const ids = await keysOfFormerReaders(state());
  return [...rig.publisher.sets].flatMap(([name, { id }]) => (ids.includes(id) ? [name] : [])).sort();
}

/** Has the keys come as if they were new ones. */
const bringNewKeys = () => state().database.run('UPDATE sets SET imported = ?', state().now());

describe('keys of former readers', () => {
  it('name a set once somebody was revoked who could read it, until its next key comes', async () => {
    await rig.invite({ name: 'ada', plan: 'pictures' });
    await rig.invite({ name: 'bea', plan: 'all' });
    pass(1);
    expect(await lost()).toEqual([]);
    await revokeSubscriber(state(), 'ada');
    expect(await lost()).toEqual(['photos']);
    pass(1);
    await bringNewKeys();
    expect(await lost()).toEqual([]);
    await revokeSubscriber(state(), 'bea');
    expect(await lost()).toEqual(['gold', 'photos']);
    await rig.invite({ name: 'bea', plan: 'pictures' }); // takes the earlier rights away
    expect(await lost()).toEqual(['gold', 'photos']);
  });

  it('name a set of a dated plan where that was revoked, and not where it ended', async () => {
    await rig.invite({ name: 'ada', plan: 'daily' });
    await rig.invite({ name: 'bea', plan: 'daily' });
    pass(1);
    await endSubscriptions(state().database, await rig.idOf('ada'), state().now());
    pass(1);
    expect(await lost()).toEqual([]);
    await revokeSubscriber(state(), 'bea');
    expect(await lost()).toEqual(['day-2026-11-20']);
  });

  it('name a set once a subscription or a grant has ended, unless the same plan goes on', async () => {
    const { database } = state();
    for (const name of ['ada', 'bea', 'cy']) await rig.invite({ name });
    const [ada, bea, cy] = [await rig.idOf('ada'), await rig.idOf('bea'), await rig.idOf('cy')];
    await subscribe(database, ada, 'pictures', START, START + DAY);
    await grant(database, bea, ['gold'], START + 3 * DAY, START);
    await subscribe(database, cy, 'daily', START, null);
    pass(2);
    expect(await lost()).toEqual(['photos']);
    await subscribe(database, ada, 'pictures', state().now(), null);
    expect(await lost()).toEqual([]);
    pass(2);
    expect(await lost()).toEqual(['gold']);
    await bringNewKeys();
    expect(await lost()).toEqual([]);
  });

  it('name a set once an account is gone that could read it, also as a member of a group', async () => {
    const { code } = await rig.invite({ name: 'school', plan: 'pictures', seats: 3 });
    await createReader(rig.server).join(code);
    for (const name of ['dora', 'eve']) await rig.invite({ name, sets: ['gold'] });
    await grant(state().database, await rig.idOf('dora'), undefined, START + DAY, START);
    pass(10);
    await bringNewKeys();
    const remove = async (name: string) => deleteSubscriber(state(), { id: await rig.idOf(name), name });
    await remove('dora'); // dora had lost it before these keys came
    expect(await lost()).toEqual([]);
    await remove('school 1');
    expect(await lost()).toEqual(['photos']);
    await remove('eve');
    expect(await lost()).toEqual(['gold', 'photos']);
  });
});

it('tells which keys former readers may have to nobody without a publishing token', async () => {
  await rig.invite({ name: 'ada', plan: 'pictures' });
  await revokeSubscriber(state(), 'ada');
  const { token } = await createToken(state(), 'publisher', 30);
  const { token: shop } = await createToken(state(), 'shop', 30, 'subscriptions');
  const ask = (authorization: string) => fetch(rig.server.url + FORMER_READERS_PATH, { headers: { authorization } });
  expect(await (await ask(`Bearer ${token}`)).json()).toEqual({ keys: [rig.publisher.sets.get('photos')?.id] });
  for (const wrong of ['', `Bearer ${token}x`, `Bearer ${shop}`]) expect((await ask(wrong)).status).toBe(401);
});
