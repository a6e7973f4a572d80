import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Hashing } from '../../keyserver/hashing/hashing.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { joinWithCode, replacePassword } from '../../keyserver/sign-in/accounts.ts';
import { deleteSubscriber, endSessions } from '../../keyserver/sign-in/own-account.ts';
import type * as passwordCost from '../../keyserver/sign-in/password-cost.ts';
import type { KeyServerState } from '../../keyserver/storage/state.ts';
import { findSubscriber, revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { type Rig, rigForFile } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createReader, handedOver, type Reader } from '../support/reading-site-visitor.ts';
import { signOnto } from '../support/signed-publication.ts';

const PASSWORD = 'correct horse battery';
const ARTICLE = '/2026/11/20/harbour.html';
const DAY = 86_400;
/** Fields of a request of no window, which gets 401 instead of the way to sign-in. */
const AS_PICTURE = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
const rig = rigForFile();
beforeAll(async () => {
  const html = { content: '<h1>The harbour</h1>', mediaType: 'text/html; charset=utf-8' };
  await publish(rig.publisher, rig.host, { path: ARTICLE, ...html, set: 'day-1' });
});

const browser = () => createReader(rig.server);

const join = (name: string) => rig.join(name, {}, PASSWORD);

async function statusOfArticle(reader: Reader): Promise<number> {
  await reader.enter();
  return (await reader.get(ARTICLE, AS_PICTURE)).status;
}

describe('joining', () => {
  it('takes the code and a password, and signs in', async () => {
    const reader = browser();
    const page = await reader.get('/-/join');
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    expect(page.text).not.toMatch(/onclick|style=/);
    const inside = Array.from(page.text.matchAll(/<(script|style)>(.*?)<\/\1>/gs), ([, , text = '']) => text);
    expect(inside.map((text) => text.length > 100)).toEqual([true, true]);
    for (const text of inside) {
      const digest = createHash('sha256').update(text).digest('base64');
      expect(page.headers['content-security-policy']).toContain(`'sha256-${digest}'`);
    }
    const accountCode = await rig.codeFor('Änne Müller');
    const joined = await reader.join(accountCode.toLowerCase(), PASSWORD);
    expect([joined.status, joined.headers.location]).toEqual([303, '/-/account']);
    expect((await reader.get('/-/account')).text).toContain('Änne Müller');
    expect(await statusOfArticle(reader)).toBe(200);
  });

  it('never reads a code out of the query', async () => {
    const accountCode = await rig.codeFor('query');
    const page = await browser().get(`/-/join?code=${accountCode}`);
    expect(page.text).not.toContain(accountCode);
  });

  it('attack 94: refuses a code that was used, expired, made for a device, or tried at random, in the same words', async () => {
    const [used, expired] = [await rig.invite({ name: 'bert' }), await rig.invite({ name: 'carla' })];
    await browser().join(used.code, PASSWORD);
    rig.passTime(8 * DAY);
    const late = await browser().join(expired.code, PASSWORD);
    rig.passTime(-8 * DAY);
    const codes = [used.code, used.code, '0000-0000-0000-0000', 'no code at all', ''];
    for (const code of codes) {
      const { status, text } = await browser().join(code, PASSWORD);
      expect(status).toBe(403);
      expect(text.replaceAll(code, '')).toBe(late.text.replaceAll(expired.code, ''));
    }
  });

  it('asks for ten characters, and keeps the code in the form', async () => {
    const accountCode = await rig.codeFor('emil');
    const { status, text } = await browser().join(accountCode, 'ninechars');
    expect(status).toBe(400);
    expect(text).toContain(`value="${accountCode}"`);
    expect(text).not.toContain('ninechars');
    expect((await browser().join(accountCode, 'ten-chars!')).status).toBe(303);
  });

  it('again, with a new invitation, replaces the password and ends the other sessions', async () => {
    const old = await join('frieda');
    const accountCode = await rig.codeFor('frieda');
    const fresh = browser();
    await fresh.join(accountCode, 'another password');
    expect(await statusOfArticle(old)).toBe(401);
    expect(await statusOfArticle(fresh)).toBe(200);
    const attempt = await browser().signIn('frieda', PASSWORD);
    expect(attempt.status).toBe(403);
  });
});

describe('a new invitation after the access was withdrawn', () => {
  it('attack 47: gives back none of the old grants', async () => {
    await rig.invite({ name: 'petra', sets: ['archive', 'day-1'] });
    await revokeSubscriber(rig.server.state, 'petra');
    const { created, grants, kept } = await rig.invite({ name: 'Petra', sets: ['sport'] });
    expect([created, grants.map(({ pattern }) => pattern), kept]).toEqual([false, ['sport'], []]);
  });
});

describe('signing in', () => {
  beforeAll(() => join('gustav'));

  it('leads back to the page and its query', async () => {
    const reader = browser();
    const target = `${ARTICLE}?page=2&from=%2Fa`;
    const { headers } = await reader.get(target, { accept: 'text/html' });
    const { origin, pathname, search } = new URL(String(headers.location));
    expect([origin, pathname]).toEqual([rig.server.readingUrl, '/-/enter']);
    const teaser = await reader.get(pathname + search, { accept: 'text/html' });
    const [, signIn = ''] = /href="([^"]+\/-\/sign-in[^"]+)"/.exec(teaser.text) ?? [];
    const asked = await reader.get(signIn.replace(origin, ''));
    const [, to = ''] = /name="to" value="([^"]+)"/.exec(asked.text) ?? [];
    expect(to.replaceAll('&amp;', '&')).toBe(target);
    const answer = await reader.post('/-/sign-in', { name: ' GUSTAV ', password: PASSWORD, to: target });
    expect([answer.status, answer.headers.location]).toEqual([303, target]);
    const { action, code = '' } = handedOver(await reader.get(pathname + search));
    expect(action).toBe(rig.server.documentsUrl + target);
    const entered = await reader.documents.post(target, { code }, { origin: rig.server.readingUrl });
    expect([entered.status, entered.headers.location]).toEqual([303, action]);
    expect(await statusOfArticle(reader)).toBe(200);
  });

  it.each([
    ...['https://evil.example/', '//evil.example/', '/\\evil.example/', '\\\\evil.example', 'javascript:alert(1)'],
    ...['/\t/evil.example', '/.//evil.example/x', '/..//evil.example', '/%2e//evil.example/', '/./\\evil.example'],
    ...['/a/..//evil.example/', '/.\t//evil.example', ''],
  ])('never leads away: %j', async (to) => {
    const answer = await browser().signIn('gustav', PASSWORD, to);
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
  });

  it('says the same to an unknown name, a name without an account, and a wrong password', async () => {
    await rig.invite({ name: 'without account' });
    const names = ['gustav', 'nobody', 'without account'];
    const pages = await Promise.all(names.map((name) => browser().signIn(name, 'wrong password')));
    expect(pages.map(({ status }) => status)).toEqual([403, 403, 403]);
    const [first, ...others] = pages.map(({ text }, index) => text.replaceAll(names[index] ?? '', 'NAME'));
    for (const other of others) expect(other).toBe(first);
  });

  it('costs the same for an unknown name: one hash, of the same work', async () => {
    const hash = vi.spyOn(rig.server.state.hashing, 'hash');
    for (const name of ['gustav', 'not-gustav']) await browser().signIn(name, 'wrong password');
    const works = hash.mock.calls.map(([, { typed, cost, salt }]) => ({ typed, cost, salt: salt.length }));
    hash.mockRestore();
    expect(works).toHaveLength(2);
    expect(works[1]).toEqual(works[0]);
  });

  it('makes a new session each time, and ends one that the browser had', async () => {
    const cookie = `wispr-${rig.server.ports.reading}`;
    const reader = browser();
    reader.cookies.set(cookie, 'A'.repeat(43));
    await reader.signIn('gustav', PASSWORD);
    const firstToken = reader.cookies.get(cookie) ?? '';
    expect(firstToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(firstToken).not.toBe('A'.repeat(43));
    await reader.signIn('gustav', PASSWORD);
    const thief = browser();
    thief.cookies.set(cookie, firstToken);
    expect(await statusOfArticle(thief)).toBe(401);
    expect(await statusOfArticle(reader)).toBe(200);
  });

  it('ends with the session: by signing out, after thirty days, and when the subscriber is revoked', async () => {
    const [out, aged, revoked] = [await join('hanna'), await join('ida'), await join('jens')];
    const left = await out.post('/-/sign-out', {});
    const { documentsUrl, readingUrl } = rig.server;
    expect([left.status, left.text.includes(`action="${documentsUrl}/-/leave"`)]).toEqual([200, true]);
    const gone = await out.documents.post('/-/leave', {}, { origin: readingUrl });
    expect([gone.status, gone.headers.location]).toEqual([303, `${readingUrl}/-/sign-in?left=1`]);
    expect((await out.get('/-/sign-in?left=1')).text).toContain('You are signed out.');
    expect((await out.get('/-/sign-in')).text).not.toContain('You are signed out.');
    expect((await fetch(`${readingUrl}/favicon.ico`)).status).toBe(204);
    const cleared = [left, gone].map(({ headers }) => headers['clear-site-data']);
    expect(cleared).toEqual(['"cache"', '"cache", "storage"']);
    expect(await statusOfArticle(out)).toBe(401);
    const lasting = { expires: Math.floor(Date.now() / 1000) + 31 * DAY };
    await signOnto(rig.publisher.publication, rig.host.files, lasting);
    await rig.server.publications.check();
    rig.passTime(30 * DAY + 1);
    expect(await statusOfArticle(aged)).toBe(401);
    rig.passTime(-30 * DAY - 1);
    expect(await revokeSubscriber(rig.server.state, 'jens')).toMatchObject({ sessions: 1 });
    expect(await statusOfArticle(revoked)).toBe(401);
    await revoked.signIn('jens', PASSWORD);
    expect((await revoked.get(ARTICLE)).headers['wispr-refusal']).toBe('revoked');
  });

  it('shows the account: name, and what can be read until when', async () => {
    const reader = browser();
    const until = Date.UTC(2099, 5, 30) / 1000;
    await reader.join(await rig.codeFor('kora', { sets: ['day-*', 'sport'], until }), PASSWORD);
    const { text } = await reader.get('/-/account');
    expect(text).toContain('<strong>kora</strong>');
    expect(text).toContain('<code>day-*</code>');
    expect(text).toContain('until 30 June 2099');
  });

  it('a new password costs what RFC 9106 recommends, except in tests', async () => {
    const { PASSWORD_COST } = await vi.importActual<typeof passwordCost>('../../keyserver/sign-in/password-cost.ts');
    expect(PASSWORD_COST).toEqual({ memory: 65_536, passes: 3, parallelism: 1 });
  });

  it('attack 48: a stored hash with huge or zero parameters is refused uncomputed', async () => {
    await join('lena');
    const { database } = rig.server.state;
    const subscriber = await rig.idOf('lena');
    const sql = 'SELECT password FROM accounts WHERE subscriber = ?';
    const { password = '' } = (await database.first<{ password: string }>(sql, subscriber)) ?? {};
    const wrong = ['m=4194304,t=3,p=1', 'm=65536,t=4000,p=1', 'm=0,t=3,p=1', 'm=65536,t=0,p=0', 'm=65536,t=3,p=255'];
    for (const cost of wrong) {
      const changed = password.replace(/m=\d+,t=\d+,p=\d+/, cost);
      await database.run('UPDATE accounts SET password = ? WHERE subscriber = ?', changed, subscriber);
      const start = performance.now();
      const { status } = await browser().signIn('lena', PASSWORD);
      expect(status).toBe(500);
      expect(performance.now() - start).toBeLessThan(2000);
    }
  });
});

describe('a password that waits for its turn to be hashed', () => {
  /** The state of the key server, with something that happens while a password waits. */
  const meanwhile = ({ state }: Rig['server'], event: () => Promise<unknown>): KeyServerState => {
    const hash: Hashing['hash'] = async (...work) => {
      await event();
      return state.hashing.hash(...work);
    };
    return { ...state, hashing: { ...state.hashing, hash } };
  };
  const given = { password: 'a password of a thief', address: '192.0.2.1' };
  const signsIn = async (name: string) => (await browser().signIn(name, given.password)).status === 303;
  const begin = async (name: string) => {
    const code = await rig.codeFor(name);
    const { token, subscriber } = await joinWithCode(rig.server.state, code.replaceAll('-', ''));
    return { subscriber, token };
  };

  it('attack 47: sets no password where the session has ended meanwhile', async () => {
    const { state } = rig.server;
    const { token, subscriber } = await begin('olaf');
    const ended = meanwhile(rig.server, () => endSessions(state, subscriber));
    expect(await replacePassword(ended, token, given)).toBe(false);
    expect(await signsIn(subscriber.name)).toBe(false);
  });

  it('attack 47: sets no password for another subscriber, who has got the number meanwhile', async () => {
    const { state } = rig.server;
    const { token, subscriber } = await begin('paula');
    const replaced = meanwhile(rig.server, async () => {
      await deleteSubscriber(state, subscriber);
      await rig.invite({ name: 'quentin' });
    });
    expect(await replacePassword(replaced, token, given)).toBe(false);
    expect((await findSubscriber(state.database, 'quentin'))?.id).toBe(subscriber.id);
    expect(await signsIn('quentin')).toBe(false);
  });
});

describe('forms', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await join('nora');
  });

  it.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['an opaque origin', { origin: 'null' }],
    ['a subdomain', { origin: 'http://x.127.0.0.1' }],
    ['another site, without Origin', { 'sec-fetch-site': 'cross-site' }],
    ['the same site, without Origin', { 'sec-fetch-site': 'same-site' }],
    ['nowhere', {}],
  ] as [string, Record<string, string>][])('attack 50: from %s change nothing', async (_, headers) => {
    const accountCode = await rig.codeFor('mara');
    const before = JSON.stringify(await overview(rig.server.state));
    for (const [path, fields] of [
      ['/-/sign-out', {}],
      ['/-/sign-in', { name: 'gustav', password: PASSWORD, to: '/' }],
      ['/-/join', { code: accountCode, password: PASSWORD }],
    ] as const) {
      const page = await reader.post(path, fields, headers);
      expect(page.status).toBe(403);
      expect(page.text).toContain('cross-site');
      expect(page.headers['set-cookie']).toBeUndefined();
    }
    expect(JSON.stringify(await overview(rig.server.state))).toBe(before);
  });

  it('from this origin pass by Sec-Fetch-Site alone', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' };
    expect((await browser().post('/-/sign-out', {}, headers)).status).toBe(200);
  });

  it.each([
    ...[`' OR '1'='1`, `'; DROP TABLE subscribers; --`, '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>'],
    ...['<%= process.env.HOME %>', '<%~ 1 %>', 'a\r\nSet-Cookie: x=1', '__proto__', 'x'.repeat(5000)],
    '\u0000\u001b[2J',
  ])('attack 49: %j in every field is data', async (text) => {
    const before = JSON.stringify(await overview(rig.server.state));
    for (const [path, fields] of [
      ['/-/sign-in', { name: text, password: text, to: text }],
      ['/-/join', { code: text, password: `${text} some password` }],
    ] as const) {
      const page = await browser().post(path, fields);
      expect([400, 403]).toContain(page.status);
      expect(page.text).not.toMatch(/<script>alert|<img/);
      expect(page.text).not.toContain(process.env.HOME);
      expect(page.headers['set-cookie']).toBeUndefined();
    }
    expect(JSON.stringify(await overview(rig.server.state))).toBe(before);
  });

  it.each([
    ['repeated fields', 'name=a&name=b&password=c&password=d'],
    ['nested fields', 'name[x]=a&password[__proto__]=b'],
    ['too many fields', Array.from({ length: 50 }, (_, index) => `f${index}=1`).join('&')],
    ['too large', `name=${'a'.repeat(20_000)}`],
    ['broken escapes', 'name=%ff%fe%00&password=%zz'],
    ['nothing', ''],
  ])('with %s are refused in a page', async (_, body) => {
    const page = await browser().post('/-/sign-in', body);
    expect([400, 403]).toContain(page.status);
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.text).not.toMatch(/at .*\.ts:|node_modules/);
  });
});
