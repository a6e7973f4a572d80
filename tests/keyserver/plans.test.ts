/** Plans, subscriptions, lists of subscribers, and why a person can read: by the commands, and as devices find it. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { whyCanRead } from '../../keyserver/operations/why.ts';
import { importSubscribers, ListRefused } from '../../keyserver/readers/import-subscribers.ts';
import { grant } from '../../keyserver/readers/invitations.ts';
import { claimSource, recordTelling, spansOf, type Telling } from '../../keyserver/subscriptions/kept-elsewhere.ts';
import { recordAnswer } from '../../keyserver/subscriptions/paywall-note.ts';
import { definePlan, listPlans, removePlan } from '../../keyserver/subscriptions/plans.ts';
import { exportSubscribers } from '../../keyserver/subscriptions/subscriber-export.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { endSubscriptions, plansOf, subscribe } from '../../keyserver/subscriptions/subscriptions.ts';
import { rigForFile } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { runWispr } from '../support/wispr.ts';

const DAY = 86_400;
const NOW = Math.floor(Date.now() / 1000);
const dateAt = (time: number) => new Date(time * 1000).toISOString().slice(0, 10);
const [BEFORE, TODAY, AFTER] = [-DAY, 0, DAY].map((seconds) => dateAt(NOW + seconds)) as [string, string, string];
const END_OF_TODAY = Date.parse(`${TODAY}T23:59:59Z`) / 1000;
const [YESTERDAYS, TODAYS, TOMORROWS] = [`day-${BEFORE}`, `day-${TODAY}`, `day-${AFTER}`];
const ISSUES = [YESTERDAYS, TODAYS, TOMORROWS, 'photos'];

const rig = rigForFile({ sets: ISSUES, startAt: NOW });
beforeAll(async () => {
  await definePlan(rig.server.state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'], zone: 'UTC' });
  await definePlan(rig.server.state, { name: 'pictures', sets: ['photos'] });
});

const passDays = (days: number) => rig.passTime(days * DAY);

describe('a plan', () => {
  it('is changed for all who subscribe to it, and removed only where it never had a subscription', async () => {
    const { state } = rig.server;
    await definePlan(state, { name: 'spare', sets: ['a-*'] });
    const { plan, created } = await definePlan(state, { name: 'spare', title: 'Spare', zone: 'UTC' });
    expect([plan, created]).toEqual([{ name: 'spare', title: 'Spare', patterns: ['a-*'], zone: 'UTC' }, false]);
    expect((await definePlan(state, { name: 'spare', zone: '' })).plan.zone).toBe(null);
    await removePlan(state, 'spare');
    expect((await listPlans(state)).map(({ name }) => name)).toEqual(['daily', 'pictures']);
    await rig.invite({ name: 'one', plan: 'daily' });
    await expect(removePlan(state, 'daily')).rejects.toMatchObject({ code: 'argument-invalid' });
    await revokeSubscriber(state, 'one');
  });

  it.each([
    [{ name: 'Daily', sets: ['*'] }, 'cannot be the name'],
    [{ name: 'new' }, 'needs its sets'],
    [{ name: 'new', sets: [] }, '1 to 100 patterns'],
    [{ name: 'new', sets: ['a b'] }, 'cannot be a pattern'],
    [{ name: 'new', sets: ['*'], zone: 'Mars/Olympus' }, 'no time zone'],
    [{ name: 'new', sets: ['*'], title: 'a\nb' }, 'cannot be the title'],
  ])('%j is refused', (request, words) => expect(definePlan(rig.server.state, request)).rejects.toThrow(words));
});

describe('a subscriber', () => {
  it('to a dated plan reads the days on which they subscribed for ever, and no others', async () => {
    const { database } = rig.server.state;
    const invitation = await rig.invite({ name: 'ada', plan: 'daily', from: NOW - DAY, until: END_OF_TODAY });
    expect(invitation).toMatchObject({ grants: [], subscriptions: [{ plan: 'daily', title: 'Weekday paper' }] });
    expect(await rig.readableBy('ada')).toEqual([YESTERDAYS, TODAYS]);
    passDays(60);
    const then = NOW + 60 * DAY;
    expect(await rig.readableBy('ada')).toEqual([YESTERDAYS, TODAYS]);
    // A later subscription does not fill the gap.
    expect(await subscribe(database, await rig.idOf('ada'), 'daily', then, null)).toBe('begun');
    expect(await rig.readableBy('ada')).toEqual([YESTERDAYS, TODAYS]);
    expect(await subscribe(database, await rig.idOf('ada'), 'daily', then, null)).toBe('unchanged');
    expect(await subscribe(database, await rig.idOf('ada'), 'daily', then, then + DAY)).toBe('moved');
    passDays(-60);
  });

  it('to another plan reads while it stands', async () => {
    await rig.invite({ name: 'bert', plan: 'pictures', until: NOW + 7 * DAY });
    expect(await rig.readableBy('bert')).toEqual(['photos']);
    passDays(8);
    expect(await rig.readableBy('bert')).toEqual([]);
    passDays(-8);
  });

  it('whose subscription is ended reads no more of what comes', async () => {
    const { database } = rig.server.state;
    await rig.invite({ name: 'carla', plan: 'daily', from: NOW - 1 });
    expect(await rig.readableBy('carla')).toEqual([TODAYS, TOMORROWS]);
    expect(await endSubscriptions(database, await rig.idOf('carla'), NOW)).toBe(1);
    passDays(1);
    expect(await rig.readableBy('carla')).toEqual([TODAYS]);
    passDays(-1);
  });

  it('who was revoked and is invited again starts anew', async () => {
    const { state } = rig.server;
    await rig.invite({ name: 'dora', plan: 'daily' });
    expect(await revokeSubscriber(state, 'dora', { dryRun: true })).toMatchObject({ invitations: 1, devices: 0 });
    expect(await rig.readableBy('dora')).not.toEqual([]);
    await revokeSubscriber(state, 'dora');
    expect(await rig.readableBy('dora')).toEqual([]);
    await rig.invite({ name: 'dora', plan: 'pictures' });
    expect(await rig.readableBy('dora')).toEqual(['photos']);
  });

  it('a subscription of another system stays without what was ended here, whatever is told of it later', async () => {
    const { database } = rig.server.state;
    await rig.invite({ name: 'gina', sets: ['none'] });
    const id = await rig.idOf('gina');
    const told = { step: 'updated', plans: ['daily'], from: NOW - DAY, periodFrom: NOW - DAY } as const;
    const tell = (at: number) => recordTelling(database, 'stripe sub_3', { ...told, at, until: NOW + 9 * DAY }, NOW);
    await claimSource(database, 'stripe sub_3', { subscriber: id, said: 0, isNamed: true });
    await tell(NOW - DAY);
    expect(await endSubscriptions(database, id, NOW - 60)).toBe(1);
    await tell(NOW - 99);
    expect(await plansOf(database, id)).toMatchObject([{ from: NOW - DAY, until: NOW - 60 }]);
    await tell(NOW - 30);
    expect(await plansOf(database, id)).toMatchObject([
      { from: NOW - DAY, until: NOW - 60 },
      { from: NOW - 30, until: NOW + 9 * DAY },
    ]);
  });

  it('a subscription of another system has the same rights in whichever order events come, and none for no time (attack 130)', () => {
    const small = fc.integer({ min: 0, max: 4 });
    const telling: fc.Arbitrary<Telling> = fc.record({
      at: small,
      step: fc.constantFrom('created', 'updated', 'ended here', 'deleted'),
      plans: fc.subarray(['a', 'b']),
      from: fc.constant(0),
      periodFrom: small,
      until: small,
    });
    const orders = <Item>(items: readonly Item[]): Item[][] =>
      items.length < 2
        ? [[...items]]
        : items.flatMap((item, index) => orders(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
    fc.assert(
      fc.property(
        fc.uniqueArray(telling, { minLength: 2, maxLength: 4, selector: (each) => JSON.stringify(each) }),
        (all) => {
          const spans = spansOf(all);
          for (const { begins, ends } of spans) expect(ends).toBeGreaterThan(begins);
          for (const order of orders(all)) expect(spansOf(order)).toEqual(spans);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gets no right for no time, from whatever writes rights (attack 130)', async () => {
    const { state } = rig.server;
    const { database } = state;
    await rig.invite({ name: 'iris', sets: ['none'] });
    const id = await rig.idOf('iris');
    await expect(subscribe(database, id, 'daily', NOW, NOW)).rejects.toMatchObject({ code: 'argument-invalid' });
    expect(await recordAnswer(database, id, [{ plan: 'daily', from: NOW, until: NOW }], NOW, DAY)).toEqual([]);
    await recordAnswer(database, id, [{ plan: 'daily', from: NOW - 1, until: null }], NOW - 1, DAY);
    await recordAnswer(database, id, [], NOW, DAY);
    const list = utf8(`name,plan,sets,until\niris,daily,,${BEFORE}\niris,,day-*,${BEFORE}\n`);
    const problem = expect.stringContaining('it is over');
    const problems = [2, 3].map((line) => ({ line, problem }));
    await expect(importSubscribers(state, list)).rejects.toMatchObject({ problems });
    expect(await importSubscribers(state, list, { skipWrong: true })).toMatchObject({ begun: 0, problems });
    await grant(database, id, ['day-*'], NOW - 5, NOW - 5);
    await subscribe(database, id, 'daily', NOW, null);
    expect(await endSubscriptions(database, id, NOW)).toBe(1);
    expect(await plansOf(database, id)).toEqual([]);
    expect(await rig.readableBy('iris')).toEqual([]);
    // Rows of an earlier version.
    const row = 'INSERT INTO subscriptions (subscriber, plan, begins, ends) VALUES (?, ?, ?, ?)';
    await database.run(row, id, 'daily', NOW, NOW);
    expect(await rig.readableBy('iris')).toEqual([]);
  });

  it('who is met by an earlier beginning has one subscription, and none ends before it begins', async () => {
    const { database } = rig.server.state;
    await rig.invite({ name: 'frank', plan: 'daily' });
    const id = await rig.idOf('frank');
    expect(await subscribe(database, id, 'daily', NOW - DAY, null)).toBe('moved');
    expect(await plansOf(database, id)).toMatchObject([{ from: NOW - DAY, until: null }]);
    await expect(subscribe(database, id, 'daily', NOW, NOW - 1)).rejects.toMatchObject({ code: 'argument-invalid' });
    expect(await subscribe(database, id, 'pictures', NOW + DAY, null)).toBe('begun');
    expect(await endSubscriptions(database, id, NOW)).toBe(2);
    expect(await plansOf(database, id)).toMatchObject([{ plan: 'daily', until: NOW }]);
  });
});

describe('a list of subscribers', () => {
  const take = (text: string, options = {}) => importSubscribers(rig.server.state, utf8(text), options);
  const names = async () => (await overview(rig.server.state)).subscribers.map(({ name }) => name);

  it('is taken whole: who is new, who stays, and whose end is another', async () => {
    const list = `name,plan,from,until\nlist-1,daily,2026-01-01,${BEFORE}\nlist-2,pictures,,\n`;
    expect(await take(list, { dryRun: true })).toMatchObject({ created: 2, begun: 2 });
    expect(await names()).not.toContain('list-1');
    const taken = { created: 2, begun: 2, moved: 0, unchanged: 0, ended: [], renamed: [] };
    const nothing = { revoked: [], invitations: [], problems: [], ignored: [] };
    expect(await take(list)).toEqual({ ...taken, ...nothing });
    expect(await rig.readableBy('list-1')).toEqual([YESTERDAYS]);
    expect(await take(list)).toMatchObject({ created: 0, begun: 0, moved: 0, unchanged: 2 });
    expect(await take(list.replace(BEFORE, '2099-11-30'))).toMatchObject({ moved: 1, unchanged: 1 });
    let exported = '';
    for await (const lines of exportSubscribers(rig.server.state, { search: 'list-' })) exported += lines;
    const [header, first, second, ...rest] = exported.split('\n');
    expect([header, first]).toEqual(['name,plan,sets,from,until,seats', 'list-1,daily,,2026-01-01,2099-11-30,']);
    expect([second, ...rest]).toEqual([expect.stringMatching(/^list-2,pictures,,20\S+,,$/), '']);
    expect(await take(exported)).toMatchObject({ created: 0, begun: 0 });
    expect(await rig.readableBy('list-1')).toEqual([YESTERDAYS, TODAYS, TOMORROWS]);
  });

  it('does not bring back who was revoked, and names them', async () => {
    expect(await take('name,plan\none,daily\n')).toMatchObject({ created: 0, begun: 0, revoked: ['one'] });
    expect(await rig.readableBy('one')).toEqual([]);
  });

  it('with a line that is wrong changes nothing, and names it', async () => {
    const refused = take('name,plan\nlist-3,daily\nlist-4,weekly\n');
    await expect(refused).rejects.toBeInstanceOf(ListRefused);
    await expect(refused).rejects.toMatchObject({ problems: [{ line: 3, problem: 'there is no plan "weekly"' }] });
    expect(await names()).not.toContain('list-3');
  });

  it('of thousands is taken in one transaction', async () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => `many-${index},daily,2026-01-01,`);
    const outcome = await take(`name,plan,from,until\n${lines.join('\n')}\n`, { inviteFor: 30 });
    expect([outcome.created, outcome.invitations.length]).toEqual([2_000, 2_000]);
    expect(await rig.readableBy('many-1999')).toEqual([YESTERDAYS, TODAYS, TOMORROWS]);
  });
});

it('“wispr admin why” says which right covers a document, or what is missing', async () => {
  const { config, publisher, host, server } = rig;
  const html = { content: '<h1>Fog</h1>', mediaType: 'text/html; charset=utf-8' };
  await publish(publisher, host, { path: '/fog.html', ...html, set: YESTERDAYS });
  await publish(publisher, host, { path: '/index.html', ...html });
  const ask = (name: string, what: string) => whyCanRead(config, server.state, name, what);
  const url = 'https://news.example/fog.html';
  const by = (name: string) => ({ plan: { name } });
  const fog = { subscriber: 'ada', path: '/fog.html', set: YESTERDAYS };
  expect(await ask('ADA', url)).toMatchObject({ ...fog, can: true, reason: 'covered', by: by('daily') });
  expect(await ask('bert', `${server.readingUrl}/fog.html`)).toMatchObject({ can: false, reason: 'not-entitled' });
  expect(await ask('bert', 'https://news.example/')).toMatchObject({ can: true, reason: 'public', set: undefined });
  passDays(30);
  expect(await ask('bert', 'photos')).toMatchObject({ can: false, reason: 'lapsed', by: by('pictures') });
  passDays(-30);
  expect(await ask('one', 'photos')).toMatchObject({ can: false, reason: 'revoked' });
  const refusal = { code: 'argument-invalid' };
  await expect(ask('zoe', url)).rejects.toMatchObject(refusal);
  for (const what of ['https://other.example/', 'https://news.example/none.html', 'no-such-set'])
    await expect(ask('ada', what)).rejects.toMatchObject(refusal);
});

it('links for a whole list are written into a file of their own, for its owner only', async () => {
  const { folder } = rig;
  rig.writeConfig();
  writeFileSync(join(folder, 'people.csv'), 'name,plan\nfrida,daily\n');
  const run = (...args: string[]) => runWispr(args, { cwd: folder });
  const dry = await run('admin', 'import', 'people.csv', '--dry-run');
  expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('it would make 1 new subscriber')]);
  const done = await run('admin', 'import', 'people.csv', '--links', 'links.csv');
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('1 link written to links.csv')]);
  expect(readFileSync(join(folder, 'links.csv'), 'utf8')).toMatch(
    /^name,link,expires,plan,seats\nfrida,http\S+#[0-9A-Z-]{19}\.[\w-]{43},\d{4}-\d\d-\d\d,daily,\n$/,
  );
  expect(statSync(join(folder, 'links.csv')).mode & 0o777).toBe(0o600);
  // Files that exist are never lost, and no one is imported if the links would be lost.
  writeFileSync(join(folder, 'more.csv'), 'name,plan\ngerd,daily\n');
  const codeFor = async (file: string) => (await run('admin', 'import', 'more.csv', '--links', file)).code;
  expect([await codeFor('links.csv'), await codeFor('absent/links.csv')]).toEqual([2, 1]);
  expect((await run('admin', 'why', 'gerd', 'photos')).code).toBe(1);
  expect((await run('admin', 'plan')).stdout).toContain('daily "Weekday paper": sets day-*; dated, UTC; ');
  const invited = await run('invite', 'hugo', '--plan', 'pictures', '--for', '7');
  const said = expect.stringContaining('hugo is a new subscriber: plan pictures from');
  expect([invited.code, invited.stderr]).toEqual([0, said]);
  const wrong = ['--plan pictures --sets *', '--plan pictures --for 7 --until 2027-01-01', '--from 2027-01-01'];
  for (const args of wrong) expect((await run('invite', 'hugo', ...args.split(' '))).code).toBe(2);
});
