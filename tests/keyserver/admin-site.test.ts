/** The operators' pages, over the real server: in Chromium with a virtual authenticator, and by requests that no page sends. */
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { roleSigner } from '../../core/publication/keys.ts';
import { factsOf, signMetadata, snapshotMetadata } from '../../core/publication/writer.ts';
import {
  beginOperatorSession,
  findOperatorLink,
  inviteOperator,
  listOperators,
  removeOperator,
} from '../../keyserver/admin-site/operators.ts';
import { storePublication } from '../../keyserver/publication/stored.ts';
import { importSubscribers } from '../../keyserver/readers/import-subscribers.ts';
import { beginSubscription } from '../../keyserver/readers/subscribing.ts';
import { newestAudit } from '../../keyserver/storage/audit.ts';
import { listSubscribers } from '../../keyserver/subscriptions/directory.ts';
import { definePlan, listPlans } from '../../keyserver/subscriptions/plans.ts';
import { findSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { launchChromium } from '../support/chromium.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { askForKeys, bind } from '../support/device.ts';
import { forFile } from '../support/for-file.ts';
import { listen, rigForFile } from '../support/keyserver-rig.ts';
import { setOf } from '../support/publisher-with-sets.ts';
import { createVisitor, type Visitor } from '../support/reading-site-visitor.ts';

const HOSTILE = `"><script>document.title='taken'</script>' OR 1=1 --<%= 7*7 %>`;
const DAY = 86_400;
const SHOTS = process.env.WISPR_SCREENSHOTS;

const rig = rigForFile({ sets: ['day-2026-11-16', 'photos'], config: { admin: { listen } } });
let origin: string;
const browser = forFile(launchChromium);
let page: Page;
let code: string;
beforeAll(async () => {
  origin = rig.server.adminUrl ?? '';
  const { state } = rig.server;
  await definePlan(state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'] });
  await definePlan(state, { name: 'hostile', title: HOSTILE, sets: ['photos'] });
  const rows = Array.from({ length: 60 }, (_, index) => `reader${String(index).padStart(2, '0')}@example.org,daily,,`);
  await importSubscribers(state, Buffer.from(`name,plan,from,until\n${rows.join('\n')}\n`));
  const device = await bind(rig.provider, await rig.codeFor('ada@example.org', { plan: 'daily' }));
  await askForKeys(device, [setOf(rig.publisher, 'day-2026-11-16').id, setOf(rig.publisher, 'photos').id]);
  ({ code } = await inviteOperator(state, 'odile'));
  await storePublication(state.database, await publicationOf(state.now()));
  const push = 'INSERT INTO pushes (target, succeeded, failed) VALUES (?, ?, ?)';
  await state.database.run(push, '/var/www/news.example', state.now() - 900, null);
  await state.database.run(push, 's3://bucket/news', state.now() - 90_000, state.now() - 900);
});

/** Makes what a publisher has handed over: the snapshot expires in 20 days, targets in 3. */
async function publicationOf(now: number) {
  const of = { version: 41_203, expires: now + 20 * DAY };
  const expiries = [
    { role: 'targets', expires: now + 3 * DAY },
    { role: 'snapshot', expires: of.expires },
  ];
  const facts = await factsOf(1, Buffer.from('{}'));
  const signer = await roleSigner(ed25519KeyPair(randomBytes(32)));
  const snapshot = signMetadata(snapshotMetadata(of, [['targets', facts]]), [signer]);
  const about = { snapshotVersion: 41_203, version: now - 540, expires: now + 2 * DAY - 540, expiries };
  const came = { published: now - 3600, who: 'token anna', place: 'anna@desk' };
  return { snapshot, timestamp: Buffer.from('{}'), ...about, ...came };
}

/** A browser that is signed in, without a screen. */
async function operator(): Promise<Visitor> {
  const visitor = createVisitor(origin);
  await inviteOperator(rig.server.state, 'otto');
  const sql = "SELECT id FROM operators WHERE name = 'otto'";
  const { id = 0 } = (await rig.server.state.database.first<{ id: number }>(sql)) ?? {};
  visitor.cookies.set(`wispr-operator-${new URL(origin).port}`, await beginOperatorSession(rig.server.state, id));
  return visitor;
}

const idOf = async (name: string) => (await findSubscriber(rig.server.state.database, name))?.id;

/** Expects that no injected script ran. With WISPR_SCREENSHOTS, measures and photographs the page, wide and narrow. */
async function shoot(name: string): Promise<void> {
  expect(await page.evaluate('document.title')).not.toBe('taken');
  if (SHOTS === undefined) return;
  mkdirSync(SHOTS, { recursive: true });
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect([name, width, overflow]).toEqual([name, width, 0]);
    await page.screenshot({ path: join(SHOTS, `admin-${name}-${width}.png`), fullPage: true });
  }
}

describe('an operator', () => {
  it('registers a passkey by a link, once, and signs in with it', async () => {
    const context = await browser.newContext();
    page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    } as const;
    await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
    await page.goto(`${origin}/join#${code}`);
    expect(page.url()).toBe(`${origin}/join`);
    await shoot('join');
    await page.getByRole('button', { name: 'Continue' }).click();
    await shoot('passkey');
    await page.getByRole('button', { name: 'Register a passkey' }).click();
    await page.waitForURL(`${origin}/`);
    expect(await findOperatorLink(rig.server.state, code)).toBe(undefined);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${origin}/sign-in`);
    await page.goto(`${origin}/subscribers`);
    expect(page.url()).toBe(`${origin}/sign-in`);
    await shoot('sign-in');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL(`${origin}/`);
    expect(await listOperators(rig.server.state)).toMatchObject([{ name: 'odile', passkeys: 1 }]);
  });

  it('sees how many read, what was asked for, and what is late', async () => {
    await page.goto(`${origin}/`);
    await page.getByText('Key requests, last 14 days').waitFor();
    expect(await page.locator('.rung.late').textContent()).toContain('The publisher has to run “wispr publish”.');
    expect(await page.locator('.rung.soon').count()).toBe(1);
    expect(await page.getByText('Events of Stripe').count()).toBe(0);
    rig.server.state.counts.add('stripe-unused plan-unknown', 3);
    await page.goto(`${origin}/`);
    expect(await page.getByText('Events of Stripe').textContent()).toContain('plan-unknown: 3');
    await shoot('overview');
    await page.goto(`${origin}/requests?days=2`);
    expect(await page.locator('td', { hasText: 'not-entitled' }).count()).toBe(1);
    await shoot('requests');
    await page.goto(`${origin}/sets`);
    await page.getByText('Bundle serial').waitFor();
    await shoot('sets');
  });

  it('searches, pages, opens a person, and changes what the person has', async () => {
    await page.goto(`${origin}/subscribers`);
    expect(await page.locator('tbody tr').count()).toBe(50);
    await shoot('subscribers');
    await page.getByRole('link', { name: 'Next page' }).click();
    expect(await page.locator('tbody tr').count()).toBe(11);
    await page.getByLabel('Name or mail').fill('ADA@');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: 'ada@example.org' }).click();
    expect(await page.locator('tr', { hasText: 'photos' }).textContent()).toContain('cannot');
    expect(await page.locator('tr', { hasText: 'day-2026-11-16' }).textContent()).toContain('can read');
    await shoot('person');
    await page.getByLabel('Last day').fill('2099-12-31');
    await page.getByRole('button', { name: 'Begin, or move the end' }).click();
    await page.getByText('2099-12-31').first().waitFor();
    await page.getByRole('button', { name: /^Remove this/ }).click();
    await page.getByText('None.').first().waitFor();
    await page.getByRole('link', { name: 'Revoke…' }).click();
    await page.getByText('Nothing has been changed yet.').waitFor();
    await shoot('revoke');
    expect((await findSubscriber(rig.server.state.database, 'ada@example.org'))?.revoked).toBe(null);
    await page.getByRole('button', { name: 'Revoke ada@example.org' }).click();
    await page.getByText('Revoked on').waitFor();
    const rows = await newestAudit(rig.server.state.database, { about: 'ada@example.org' }, 3);
    expect(rows.map(({ action }) => action)).toEqual(['revoke', 'device-removed', 'begin']);
    for (const { who } of rows) expect(who).toBe('operator odile');
  });

  it('invites, and imports a list after seeing what it would change', async () => {
    await page.goto(`${origin}/invite`);
    await shoot('invite');
    await page.getByLabel('Name, or mail address').fill('berta');
    await page.getByRole('button', { name: 'Invite' }).click();
    expect(await page.getByLabel('Link').inputValue()).toMatch(/#[0-9A-Z-]{19}\./);
    await shoot('invited');
    await page.goto(`${origin}/import`);
    await page.getByLabel('The list').fill('name,plan\nclara,daily\nclara,nothing');
    await page.getByRole('button', { name: 'See what' }).click();
    await page.getByText('line 3:').waitFor();
    await page.getByLabel('The list').fill('name,plan\nclara,daily\n');
    await page.getByRole('button', { name: 'See what' }).click();
    await page.getByText('Nothing was changed').waitFor();
    await shoot('import');
    expect(await idOf('clara')).toBe(undefined);
    await page.getByRole('button', { name: 'Import it' }).click();
    await page.getByText('Made 1 new').waitFor();
    expect(await idOf('clara')).toBeGreaterThan(0);
  });

  it('downloads the subscribers, extends a plan for all, and revokes several or none', async () => {
    const visitor = await operator();
    for (const name of ['gina@example.org', 'Gabriel, Hugo'])
      await beginSubscription(rig.server.state, { subscriber: name, plan: 'daily', until: '2098-12-30' });
    const list = async () => (await visitor.get('/subscribers.csv?search=g&plan=daily')).text;
    expect(await list()).toMatch(/^name,plan,sets,from,until,seats\n(?:.*\n)*"Gabriel, Hugo",daily,,\S+,2098-12-30,\n/);
    expect((await visitor.post('/plans/extend', { name: 'daily', days: '2' })).status).toBe(303);
    expect(await list()).toMatch(/gina@example\.org,daily,,\S+,2099-01-01,\n/);
    expect((await visitor.post('/revoke', { names: 'gina@example.org\nnobody' })).status).toBe(400);
    expect((await findSubscriber(rig.server.state.database, 'gina@example.org'))?.revoked).toBeNull();
    const done = await visitor.post('/revoke', { names: ' gina@example.org\r\nGabriel, Hugo\n\n' });
    expect(done.text).toContain('Revoked: gina@example.org, Gabriel, Hugo');
    expect((await findSubscriber(rig.server.state.database, 'gina@example.org'))?.revoked).not.toBeNull();
  });

  it('attack 132: sends no session to other ports of the computer, and confirms with the passkey what a copied one cannot change', async () => {
    const seen: (string | undefined)[] = [];
    const other = createServer(({ headers }, response) => response.end(void seen.push(headers.cookie)));
    const port = await listenOnLoopback(other);
    const elsewhere = await page.context().newPage();
    for (const host of ['localhost', 'wispr-admin.localhost', '127.0.0.1'])
      await elsewhere.goto(`http://${host}:${port}/`);
    await elsewhere.close();
    expect(seen.filter((cookie) => cookie !== undefined)).toEqual([]);
    expect(seen.length).toBeGreaterThanOrEqual(3);
    await closeServer(other);
    const thief = await operator();
    rig.passTime(601);
    const ada = `/subscribers/${await idOf('ada@example.org')}`;
    for (const path of ['/invite', '/plans', '/plans/extend', '/revoke', '/import', `${ada}/revoke`])
      expect((await thief.post(path, { name: 'eve', plan: 'daily' })).text).toContain('Confirm with your passkey');
    expect((await thief.post('/invite', { name: 'eve', answer: '{}' })).status).toBe(403);
    expect(await idOf('eve')).toBe(undefined);
    await page.goto(`${origin}/invite`);
    await page.getByLabel('Name, or mail address').fill('erna');
    await page.getByRole('button', { name: 'Invite' }).click();
    await shoot('confirm');
    await page.getByRole('button', { name: 'Confirm with your passkey' }).click();
    expect(await page.getByLabel('Link').inputValue()).toMatch(/#[0-9A-Z-]{19}\./);
    expect(await idOf('erna')).toBeGreaterThan(0);
  });

  it('sees what a plan covers before it is saved, and the audit trail', async () => {
    await page.goto(`${origin}/plans`);
    await page.getByLabel('Name, for commands').fill('pictures');
    await page.getByLabel('Patterns of sets').fill('photo*');
    await page.getByRole('button', { name: 'See what it covers' }).click();
    expect(await page.getByRole('status').textContent()).toContain('photos');
    await shoot('plans');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(`${origin}/plans`);
    expect((await listPlans(rig.server.state)).map(({ name }) => name)).toContain('pictures');
    await page.goto(`${origin}/audit?who=operator+odile`);
    await page.locator('tr', { hasText: 'pictures' }).first().waitFor();
    await shoot('audit');
    const { text } = await (await operator()).get('/audit/export');
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ number: 1, previous: '' });
  });
});

describe('who is no operator', () => {
  it('is shown nothing, and changes nothing', async () => {
    const visitor = createVisitor(origin);
    const subscribers = ['/subscribers', '/subscribers/1', '/subscribers.csv', '/revoke', '/import'];
    for (const path of ['/', ...subscribers, '/plans', '/sets', '/requests', '/audit', '/audit/export'])
      expect(await visitor.get(path)).toMatchObject({ status: 303, headers: { location: '/sign-in' } });
    for (const path of ['/plans', '/plans/extend', '/invite', '/import', '/revoke', '/subscribers/1/revoke'])
      expect(await visitor.post(path, { name: 'evil', sets: '*' })).toMatchObject({ status: 303 });
    expect((await visitor.get('/passkey')).status).toBe(400);
    expect((await visitor.post('/passkey/options', {})).status).toBe(400);
    expect((await visitor.post('/join', { code })).status).toBe(400);
    expect((await visitor.post('/sign-in', { answer: '{}' })).status).toBe(403);
    expect((await listPlans(rig.server.state)).map(({ name }) => name)).not.toContain('evil');
  });

  it('ends with the session: signed out, 12 hours later, or removed', async () => {
    const [left, removed] = [await operator(), await operator()];
    expect((await left.get('/')).status).toBe(200);
    await left.post('/sign-out', {});
    expect((await left.get('/')).status).toBe(303);
    expect((await removed.get('/')).status).toBe(200);
    const { code: open } = await inviteOperator(rig.server.state, 'otto');
    await removeOperator(rig.server.state, 'otto');
    expect(await findOperatorLink(rig.server.state, open)).toBe(undefined);
    await expect(removeOperator(rig.server.state, 'otto')).rejects.toMatchObject({ code: 'argument-invalid' });
    expect((await removed.get('/')).status).toBe(303);
    const late = await operator();
    rig.passTime(12 * 3600 + 1);
    expect((await late.get('/')).status).toBe(303);
  });

  it('attack 50: forms of other sites are refused, and no other host is answered', async () => {
    const visitor = await operator();
    const form = { name: 'forged', sets: '*' };
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: rig.server.readingUrl },
      { 'sec-fetch-site': 'same-site' },
      {},
    ];
    for (const headers of foreign) expect((await visitor.post('/plans', form, headers)).status).toBe(403);
    expect((await listPlans(rig.server.state)).map(({ name }) => name)).not.toContain('forged');
    expect((await visitor.get('/', { host: 'evil.example' })).status).toBe(421);
    const { headers } = await visitor.get('/');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['cache-control']).toBe('no-store');
  });
});

it('attack 49: what is put into fields and addresses stays text', async () => {
  const visitor = await operator();
  const id = await idOf('reader00@example.org');
  const value = encodeURIComponent(HOSTILE);
  const gets = [
    `/subscribers?search=${value}&plan=${value}&state=${value}&after=${value}`,
    `/subscribers/${value}`,
    `/subscribers/${id}?what=${value}`,
    `/audit?who=${value}&about=${value}&since=${value}&before=${value}`,
    `/sets?page=${value}`,
    `/requests?days=${value}`,
    '/plans',
    '/invite',
  ];
  const names = ['name', 'title', 'sets', 'zone', 'plan', 'until', 'list', 'device', 'days', 'names'];
  const fields = Object.fromEntries(names.map((name) => [name, HOSTILE]));
  const plans = ['/plans', '/plans/edit', '/plans/remove', '/plans/extend'];
  const subscribers = ['/revoke', '/invite', '/import', `/subscribers/${id}/plan`, `/subscribers/${id}/remove-device`];
  const list = { list: `name,plan\n${HOSTILE},${HOSTILE}\n` };
  const preview = { ...fields, sets: 'photos', zone: '', step: 'preview' };
  const pages = [
    ...(await Promise.all(gets.map((path) => visitor.get(path)))),
    ...(await Promise.all([...plans, ...subscribers].map((path) => visitor.post(path, fields)))),
    await visitor.post('/import', list),
    await visitor.post('/plans', preview),
  ];
  for (const { status, text } of pages) {
    expect(status).toBeLessThan(500);
    expect(text).not.toContain('<script>document');
    expect(text).not.toContain("' OR 1=1 --49");
  }
  const { database, now } = rig.server.state;
  expect((await listSubscribers(database, { search: '%' }, now())).entries).toEqual([]);
});
