/** The way from the account's origin to that of the documents, request by request: rows 50, 93 and 96 of the attack list. */
import { beforeAll, describe, expect, it } from 'vitest';
import { rigForFile } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createReader, handedOver, type Page, type Reader } from '../support/reading-site-visitor.ts';
import { danglingRows } from '../support/store.ts';

const PASSWORD = 'correct horse battery';
const WINDOW = { accept: 'text/html' };
const LETTER = { path: '/letter.html', content: '<h1>Letter</h1>', mediaType: 'text/html', set: 'day-1' };
const FRONT = { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' };

const rig = rigForFile();
beforeAll(async () => {
  for (const document of [LETTER, FRONT]) await publish(rig.publisher, rig.host, document);
});

const join = (name: string) => rig.join(name, {}, PASSWORD);

function targetOf({ status, headers }: Page): string {
  expect(status).toBe(303);
  const { pathname, search } = new URL(String(headers.location), rig.server.documentsUrl);
  return pathname + search;
}

/** The code with which a browser that is signed in enters the documents. */
async function codeOf(reader: Reader): Promise<string> {
  const entrance = targetOf(await reader.documents.get('/letter.html', WINDOW));
  const { action, code = '' } = handedOver(await reader.get(entrance));
  expect([action, code.length]).toEqual([`${rig.server.documentsUrl}/letter.html`, 43]);
  return code;
}

const bring = (reader: Reader, code: string, path = '/letter.html', headers?: Record<string, string>) =>
  reader.documents.post(path, { code }, headers ?? { origin: rig.server.readingUrl });

const signedOut = (reader: Reader) => reader.documents.cookies.delete(`wispr-${rig.server.ports.documents}`);
const reads = async (reader: Reader) => (await reader.get('/letter.html')).text.includes('Letter');

describe('attack 96: the origin with accounts', () => {
  it.each(['/', '/index.html?q=1', '/nothing.html', '/a//b', '//evil.example/x', '/.well-known/x'])(
    'has no published byte at %s, and leads a window to the documents',
    async (path) => {
      const { readingUrl, documentsUrl } = rig.server;
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await fetch(readingUrl + path, { method, redirect: 'manual' });
        expect([status, headers.get('location')]).toEqual([303, documentsUrl + path]);
      }
      const asPicture = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
      expect((await fetch(readingUrl + path, { headers: asPicture })).status).toBe(403);
    },
  );

  it('accepts no session of the documents, and the documents accept none of the account', async () => {
    const anna = await join('anna');
    const { reading, documents } = rig.server.ports;
    const token = anna.cookies.get(`wispr-${reading}`) ?? '';
    const documentsToken = anna.documents.cookies.get(`wispr-${documents}`) ?? '';
    expect([token.length, documentsToken.length]).toEqual([43, 43]);
    const thief = createReader(rig.server);
    thief.cookies.set(`wispr-${reading}`, documentsToken);
    thief.documents.cookies.set(`wispr-${documents}`, token);
    expect((await thief.get('/-/account')).status).toBe(401);
    expect(await reads(thief)).toBe(false);
  });

  it('has all forms: the documents have no account, no sign-in and no page with a form', async () => {
    const anna = await join('berta');
    for (const path of ['/-/account', '/-/sign-in', '/-/join', '/nothing.html']) {
      const { status, text } = await anna.documents.get(path);
      expect([path, status, /<form|<input|<script/.test(text)]).toEqual([path, 404, false]);
    }
    const page = await anna.documents.get('/nothing.html');
    expect(page.headers['content-security-policy']).toContain("form-action 'none'");
    expect(page.text).toContain(`href="${rig.server.readingUrl}/-/account"`);
    const { action } = handedOver(await anna.get('/-/enter?to=/letter.html'));
    expect(action).toBe(`${rig.server.documentsUrl}/letter.html`);
    expect((await fetch(`${rig.server.documentsUrl}/-/sign-in`, { method: 'POST' })).status).toBe(404);
  });
});

describe('the code', () => {
  it('attack 50: opens nothing in a browser where a page of the account did not bring it', async () => {
    const [attacker, victim] = [await join('mallory'), createReader(rig.server)];
    signedOut(attacker);
    const code = await codeOf(attacker);
    for (const origin of ['https://evil.example', rig.server.documentsUrl, rig.server.url, 'null', '']) {
      const { status, headers } = await bring(victim, code, '/letter.html', origin ? { origin } : {});
      expect([origin, status, headers['set-cookie']]).toEqual([origin, 405, undefined]);
    }
    for (const path of [`/letter.html?code=${code}`, `/-/enter?code=${code}&to=/letter.html`])
      expect((await victim.documents.get(path)).headers['set-cookie']).toBeUndefined();
    const framed = { origin: rig.server.readingUrl, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
    expect((await bring(victim, code, '/letter.html', framed)).status).toBe(403);
    expect(await reads(victim)).toBe(false);
    expect((await bring(attacker, code)).status).toBe(303);
  });

  it('works once, within a minute, and leads to the document', async () => {
    const anna = await join('carla');
    signedOut(anna);
    const code = await codeOf(anna);
    const entered = await bring(anna, code, '/letter.html?q=1');
    expect(targetOf(entered)).toBe('/letter.html?q=1');
    expect(entered.headers['cache-control']).toBe('no-store');
    expect(await reads(anna)).toBe(true);
    expect((await bring(anna, code)).status).toBe(303); // loaded again
    signedOut(anna);
    const again = await bring(anna, code);
    expect([again.status, again.text.includes('<code>entry-refused</code>')]).toEqual([403, true]);
    const late = await codeOf(anna);
    rig.passTime(61);
    expect((await bring(anna, late)).status).toBe(403);
    rig.passTime(-61);
  });

  it('is not had by frames and scripts, and leads nowhere else', async () => {
    const anna = await join('dora');
    const begun = targetOf(await createReader(rig.server).documents.get('/-/begin?to=//evil.example/'));
    expect(new URLSearchParams(begun.split('?')[1]).get('to')).toBe('/');
    for (const [mode, destination] of Object.entries({ navigate: 'iframe', cors: 'empty', 'no-cors': 'image' })) {
      const headers = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': destination };
      expect((await anna.get(begun, headers)).status).toBe(403);
      expect((await anna.documents.get('/-/begin?to=/', headers)).status).toBe(403);
    }
    for (const to of ['https://evil.example/', '/\\evil.example/', '/..//evil.example', '/-/leave', '']) {
      const page = await anna.get(`/-/enter?to=${encodeURIComponent(to)}`);
      expect(handedOver(page).action).toBe(`${rig.server.documentsUrl}/`);
      expect(page.headers['referrer-policy']).toBe('strict-origin'); // the form would have no origin otherwise
    }
    const { code = '' } = handedOver(await anna.get('/-/enter?to=/'));
    const led = await bring(anna, code, '//evil.example/');
    expect(led.headers.location).toBe(`${rig.server.documentsUrl}/`);
  });

  it('attack 93: is neither logged nor stored, nor are tokens and passwords', async () => {
    const anna = await join('emma');
    signedOut(anna);
    const code = await codeOf(anna);
    const { database } = rig.server.state;
    const tables = ['sessions', 'document_sessions', 'entries', 'accounts', 'invitations'];
    const dump = JSON.stringify(await Promise.all(tables.map((table) => database.all(`SELECT * FROM ${table}`))));
    expect(dump).not.toContain(PASSWORD);
    await bring(anna, code);
    for (const secret of [code, ...anna.cookies.values(), ...anna.documents.cookies.values()]) {
      expect(rig.log() + dump).not.toContain(secret);
      expect(dump).not.toContain(JSON.stringify([...Buffer.from(secret, 'base64url')]).slice(1, -1));
    }
  });
});

describe('a session of the documents', () => {
  it('ends with that of the account: signed out, revoked, or with a new password', async () => {
    const anna = await join('frieda');
    expect(await reads(anna)).toBe(true);
    await anna.post('/-/sign-out', {}, { origin: rig.server.readingUrl });
    expect(await reads(anna)).toBe(false);
    const old = await join('gerda');
    await join('gerda');
    expect(await reads(old)).toBe(false);
    expect(await danglingRows(rig.server.state.database, rig.config)).toEqual([]);
  });

  it('is there before a public page is loaded, for who is signed in', async () => {
    const anna = await join('hanna');
    signedOut(anna);
    expect(targetOf(await anna.documents.get('/letter.html', WINDOW))).toContain('/-/enter');
    const cookie = [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const led = await fetch(`${rig.server.readingUrl}/index.html?q=1`, { headers: { cookie } });
    const { action, code } = handedOver({ text: await led.text() } as Page);
    expect([action, code?.length]).toEqual([`${rig.server.documentsUrl}/index.html?q=1`, 43]);
  });

  it('is not begun over and over where a browser keeps no cookies', async () => {
    const anna = await join('ida');
    anna.documents.cookies.clear();
    const referer = `${rig.server.readingUrl}/`;
    await bring(anna, await codeOf(anna), '/letter.html', { origin: rig.server.readingUrl, referer });
    anna.documents.cookies.clear();
    const page = await anna.documents.get('/letter.html', { ...WINDOW, referer });
    expect([page.status, page.text.includes('keeps no cookies')]).toEqual([403, true]);
  });
});
