import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OpenIdProvider } from '../../keyserver/sign-in/openid-provider.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';
import { CLIENT, type OpenIdProviderRig, startOpenIdProvider } from '../support/openid-provider.ts';
import { createReader, createVisitor, type Page, type Reader } from '../support/reading-site-visitor.ts';

let provider: OpenIdProviderRig;
const rig = rigForFile(async () => {
  provider = await startOpenIdProvider(() => `${rig.server.readingUrl}/-/openid/back`);
  const clientSecretFile = join(temporaryFolder(), 'client.secret');
  writeFileSync(clientSecretFile, CLIENT.secret, { mode: 0o600 });
  const as = { issuer: provider.issuer, clientId: CLIENT.id, clientSecretFile };
  return { config: { openid: { ...as, title: 'School', plan: 'daily', trustMail: false } } };
});
beforeAll(() => definePlan(rig.server.state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'] }));
afterEach(() => {
  provider.person = undefined;
});

const OWN_PAGE = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const FOREIGN_PAGE = { ...OWN_PAGE, 'sec-fetch-site': 'cross-site' };

/** Goes from the sign-in page to the provider. @returns where the provider is */
async function begin(reader: Reader, query = ''): Promise<URL> {
  const { status, headers } = await reader.get(`/-/openid${query}`, OWN_PAGE);
  expect(status).toBe(303);
  return new URL(String(headers.location));
}

/** Goes through the provider. @returns the path that leads back */
async function sign(at: URL): Promise<string> {
  const visitor = createVisitor(provider.issuer);
  for (let url = at; ; ) {
    if (url.origin === rig.server.readingUrl) return url.pathname + url.search;
    const { status, headers, text } = await visitor.get(url.pathname + url.search);
    if (status !== 303) throw new Error(`${status} ${text}`);
    url = new URL(String(headers.location), url);
  }
}

async function signIn(query = '', reader = createReader(rig.server)): Promise<{ reader: Reader; page: Page }> {
  return { reader, page: await reader.get(await sign(await begin(reader, query)), FOREIGN_PAGE) };
}

const account = async (reader: Reader) => (await reader.get('/-/account')).text;
const nameIn = (text: string) => /class="lead"><strong>([^<]+)</.exec(text)?.[1];
const subscribers = () => rig.server.state.database.all<{ name: string }>('SELECT name FROM subscribers ORDER BY id');

/** Expects that a refusal leaves nothing but the sign-in page with the way back in it. */
async function expectRefusal(page: Page, reader: Reader, code: number): Promise<void> {
  expect([page.status, page.headers['cache-control']]).toEqual([code, 'no-store']);
  expect(page.text).toContain('id="refused"');
  expect((await reader.get('/-/account')).status).toBe(401);
}

describe('a verified mail address', () => {
  const ada = { sub: 'ada-1', email: 'Ada@example.org', email_verified: true, preferred_username: 'countess' };

  it('names a new subscriber, who has the plan, and comes back to the page', async () => {
    provider.person = ada;
    const { reader, page } = await signIn(`?to=${encodeURIComponent('/-/enter?challenge=x&to=/20/a.html')}`);
    expect([page.status, page.headers.location]).toEqual([303, '/-/enter?challenge=x&to=/20/a.html']);
    const text = await account(reader);
    expect(nameIn(text)).toBe('Ada@example.org');
    expect(text).toContain('Weekday paper');
  });

  it('signs in in each of several windows that began side by side, back to the page of each', async () => {
    provider.person = ada;
    const reader = createReader(rig.server);
    const begun = [];
    for (const each of ['/1', '/2', '/3']) begun.push(await begin(reader, `?to=${each}`));
    const found = [];
    for (const at of begun) found.push((await reader.get(await sign(at), FOREIGN_PAGE)).headers.location);
    expect(found).toEqual(['/1', '/2', '/3']);
  });

  it('is not asked for again: the identity counts, by whatever name', async () => {
    const before = await subscribers();
    provider.person = { ...ada, email: 'other@example.org' };
    const { reader } = await signIn();
    expect(nameIn(await account(reader))).toBe('Ada@example.org');
    expect(await subscribers()).toEqual(before);
  });

  it('links to the subscriber of that name, and changes nothing else', async () => {
    await rig.invite({ name: 'bert@example.org', sets: ['archive'] });
    provider.person = { sub: 'bert-1', email: 'BERT@example.org', email_verified: 'true' }; // providers may do so
    const text = await account((await signIn()).reader);
    expect(nameIn(text)).toBe('bert@example.org');
    expect(text).not.toContain('Weekday paper');
  });

  it('of a revoked subscriber gives nothing back', async () => {
    await rig.invite({ name: 'carla@example.org' });
    await revokeSubscriber(rig.server.state, 'carla@example.org');
    provider.person = { sub: 'carla-1', email: 'carla@example.org', email_verified: true };
    expect(await account((await signIn()).reader)).toContain('The publisher has ended your access');
  });

  it('of a revoked subscriber deletes no account: the next sign-in would make one that has the plan', async () => {
    provider.person = { sub: 'dan-1', email: 'dan@example.org', email_verified: true };
    await signIn();
    await revokeSubscriber(rig.server.state, 'dan@example.org');
    const { reader } = await signIn();
    expect((await reader.post('/-/delete', {})).status).toBe(303);
    const text = await account((await signIn()).reader);
    expect(text).toContain('The publisher has ended your access');
    expect(text).not.toContain('Weekday paper');
  });
});

it.each([
  ['a mail address', { email: 'victim@example.org', email_verified: false }],
  ['one that is not verified, as text', { email: 'victim@example.org', email_verified: 'false' }],
  ['one of which the provider says nothing', { email: 'victim@example.org' }],
  ['a look-alike', { email: 'ｖictim@example.org', email_verified: true }],
  ['a nickname', { preferred_username: 'victim@example.org' }],
  ['a name', { preferred_username: 'victim' }],
])('attack 118: an unverified one links to no subscriber: %s', async (what, claims) => {
  for (const name of ['victim@example.org', 'victim']) await rig.invite({ name });
  provider.person = { sub: what, ...claims };
  expect(nameIn(await account((await signIn()).reader))).toMatch(/^(victim|reader|)-[0-9a-f]{8}$/);
});

it('is believed without a word of the provider only where the configuration trusts it', async () => {
  const { issuer } = provider;
  const back = `${rig.server.readingUrl}/-/openid/back`;
  const options = { issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, now: rig.server.state.now };
  const mailOf = async (trustMail: boolean, claims: object) => {
    provider.person = { sub: 'emma', email: 'emma@example.org', ...claims };
    const own = new OpenIdProvider({ ...options, trustMail });
    const { url, secret } = await own.begin(back);
    return (await own.person(secret, new URL(await sign(url), back))).mail;
  };
  expect(await mailOf(true, {})).toBe('emma@example.org');
  expect(await mailOf(false, {})).toBeUndefined();
  expect(await mailOf(true, { email_verified: false })).toBeUndefined();
});

describe('what is refused', () => {
  beforeEach(() => {
    provider.person = { sub: 'dora', email: 'dora@example.org', email_verified: true };
  });

  it('the person cancels', async () => {
    provider.person = undefined;
    const { reader, page } = await signIn('?to=/-/account');
    await expectRefusal(page, reader, 403);
    expect(page.text).toContain('You have not signed in there');
    expect(page.text).toContain('name="to" value="/-/account"');
  });

  it('attack 117: a code is used again', async () => {
    const reader = createReader(rig.server);
    const at = await begin(reader);
    const [cookie, value] = [...reader.cookies].find(([name]) => name.includes('openid')) ?? ['', ''];
    const back = await sign(at);
    expect((await reader.get(back, FOREIGN_PAGE)).status).toBe(303);
    expect(reader.cookies.has(cookie)).toBe(false);
    const thief = createReader(rig.server);
    thief.cookies.set(cookie, value);
    await expectRefusal(await thief.get(back, FOREIGN_PAGE), thief, 403);
  });

  it('attacks 50 and 117: a way that was begun in another browser, or in none', async () => {
    const [attacker, victim, stranger] = [1, 2, 3].map(() => createReader(rig.server)) as [Reader, Reader, Reader];
    const back = await sign(await begin(attacker));
    await begin(victim);
    await expectRefusal(await victim.get(back, FOREIGN_PAGE), victim, 403);
    await expectRefusal(await stranger.get(back, FOREIGN_PAGE), stranger, 403);
  });

  it.each(['state', 'nonce', 'code_challenge'])('attack 117: another %s', async (name) => {
    const reader = createReader(rig.server);
    const at = await begin(reader);
    at.searchParams.set(name, (await begin(createReader(rig.server))).searchParams.get(name) ?? '');
    await expectRefusal(await reader.get(await sign(at), FOREIGN_PAGE), reader, 403);
  });

  it('attack 50: pages of other sites begin nothing, and no frame or script comes back', async () => {
    const reader = createReader(rig.server);
    expect((await reader.get('/-/openid', FOREIGN_PAGE)).status).toBe(403);
    expect((await reader.get('/-/openid')).status).toBe(403);
    const frame = { ...FOREIGN_PAGE, 'sec-fetch-dest': 'iframe' };
    expect((await reader.get('/-/openid/back?code=x&state=y', frame)).status).toBe(403);
  });

  it.each(['//evil.example/', '/'.repeat(3000)])('never leads away: %.30s', async (to) => {
    const { page } = await signIn(`?to=${encodeURIComponent(to)}`);
    expect([page.status, page.headers.location]).toEqual([303, '/']);
  });

  it('keeps the place in a page away from the provider, and comes back to it', async () => {
    const reader = createReader(rig.server);
    const at = await begin(reader, `?to=/-/keys&place=${encodeURIComponent('#to=/a.html')}`);
    expect(decodeURIComponent(at.href)).not.toContain('a.html');
    expect((await reader.get(await sign(at), FOREIGN_PAGE)).headers.location).toBe('/-/keys#to=/a.html');
  });

  it('the clock of the key server is wrong', async () => {
    rig.passTime(2 * 86_400);
    const { reader, page } = await signIn();
    rig.passTime(-2 * 86_400);
    expect(page.text).toContain('a clock is wrong');
    await expectRefusal(page, reader, 502);
  });

  it('the provider is down', async () => {
    const reader = createReader(rig.server);
    const back = await sign(await begin(reader));
    await provider.stop();
    await expectRefusal(await reader.get(back, FOREIGN_PAGE), reader, 502);
    rig.passTime(7200);
    await expectRefusal(await reader.get('/-/openid', OWN_PAGE), reader, 502);
  });

  it('writes neither codes nor secrets into the log', () => {
    expect(rig.log()).toContain('openid-unreachable');
    for (const word of [CLIENT.secret, 'code=', 'state=', 'example.org']) expect(rig.log()).not.toContain(word);
  });
});
