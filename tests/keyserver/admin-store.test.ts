/** Data that the operators' pages read and write, without a page: the directory of subscribers, counts. */
import { beforeAll, expect, it } from 'vitest';
import { importSubscribers } from '../../keyserver/readers/import-subscribers.ts';
import { countsSince } from '../../keyserver/storage/counts.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { countSubscribers, listSubscribers, SUBSCRIBER_STATES } from '../../keyserver/subscriptions/directory.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { askForKeys, bind } from '../support/device.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { setOf } from '../support/publisher-with-sets.ts';

const DAY = 86_400;

const rig = rigForFile({ sets: ['day-2026-11-16', 'photos'] });
let state: KeyServerState;
beforeAll(async () => {
  ({ state } = rig.server);
  await definePlan(state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'] });
  const list = 'name,plan,from,until\nlate,daily,2019-01-01,2020-01-01\nbert,daily,,\ncarla,daily,,\n';
  await importSubscribers(state, Buffer.from(list));
});

it('counts subscribers by state, and keys and bindings by hour for 90 days', async () => {
  const { database, now } = state;
  const device = await bind(rig.provider, await rig.codeFor('ada', { plan: 'daily' }));
  await askForKeys(device, [setOf(rig.publisher, 'day-2026-11-16').id, setOf(rig.publisher, 'photos').id]);
  await state.lastSeen.store();
  expect(await countSubscribers(database, now())).toMatchObject({ active: 1, invited: 2, lapsed: 1, reading: 1 });
  await revokeSubscriber(state, 'ada');
  const counted = await countSubscribers(database, now());
  expect(counted).toMatchObject({ active: 0, invited: 2, lapsed: 1, revoked: 1, recent: 4 });
  for (const each of SUBSCRIBER_STATES) {
    const { entries } = await listSubscribers(database, { state: each }, now());
    expect([each, entries.length]).toEqual([each, counted[each]]);
  }
  await state.counts.store();
  const counts = await countsSince(database, 0);
  const sum = (wanted: string) => counts.filter(({ what }) => what === wanted).reduce((all, { n }) => all + n, 0);
  expect([sum('key-given'), sum('key-refused not-entitled'), sum('binding')]).toEqual([1, 1, 1]);
  state.counts.add('key-given', 2);
  await state.counts.store();
  await state.counts.store();
  expect((await countsSince(database, now())).find(({ what }) => what === 'key-given')?.n).toBe(3);
  rig.passTime(91 * DAY);
  state.counts.add('sign-in');
  await state.counts.store();
  expect((await countsSince(database, 0)).map(({ what }) => what)).toEqual(['sign-in']);
});
