/** The way from the account's origin to that of the documents, request by request: rows 50, 93 and 96 of the attack list. */
import { beforeAll, describe, expect, it } from 'vitest';
import { rigForFile } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createReader, type Page, type Reader } from '../support/reading-site-visitor.ts';
import { danglingRows } from '../support/store.ts';

const PASSWORD = 'correct horse battery';
const LETTER = { path: '/letter.html', content: '<h1>Letter</h1>', mediaType: 'text/html', set: 'day-1' };
const FRONT = { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' };

const rig = rigForFile();
beforeAll(async () => {
  for (const document of [LETTER, FRONT]) await publish(rig.publisher, rig.host, document);
});

const join = (name: string) => rig.join(name, {}, PASSWORD);

/** Path and query that a redirect leads to. */
function targetOf({ status, headers }: Page): string {
  expect(status).toBe(303);
  const { pathname, search } = new URL(String(headers.location), rig.server.documentsUrl);
  return pathname + search;
}

/** The address, with a code, at which a browser that is signed in enters the documents. */
async function entranceOf(reader: Reader): Promise<string> {
  return targetOf(await reader.get(targetOf(await reader.documents.get('/letter.html'))));
}

const signedOut = (reader: Reader) => reader.documents.cookies.delete(`wispr-${rig.server.ports.documents}`);
const reads = async (reader: Reader) => (await reader.get('/letter.html')).status === 200;

describe('attack 96: the origin with accounts', () => {
  it.each(['/', '/letter.html?q=1', '/nothing.html', '/a//b', '//evil.example/x', '/.well-known/x'])(
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
    for (const path of ['/-/account', '/-/sign-in', '/-/join', '/-/sign-in.js', '/-/join.js', '/nothing.html']) {
      const { status, text } = await anna.documents.get(path);
      expect([path, status, /<form|<input|<script/.test(text)]).toEqual([path, 404, false]);
    }
    const page = await anna.documents.get('/nothing.html');
    expect(page.headers['content-security-policy']).toContain("form-action 'none'");
    expect(page.text).toContain(`href="${rig.server.readingUrl}/-/account"`);
    expect((await fetch(`${rig.server.documentsUrl}/-/sign-in`, { method: 'POST' })).status).toBe(404);
  });
});

describe('the code', () => {
  it('attack 50: opens nothing in a browser that did not ask for it, and is used up by the attempt', async () => {
    const [attacker, victim] = [await join('mallory'), createReader(rig.server)];
    await victim.documents.get('/letter.html'); // has begun by itself
    signedOut(attacker);
    const entrance = await entranceOf(attacker);
    const page = await victim.documents.get(entrance);
    expect([page.status, page.headers['set-cookie']]).toEqual([403, undefined]);
    expect(page.text).toContain('<code>entry-refused</code>');
    expect(await reads(victim)).toBe(false);
    expect((await attacker.documents.get(entrance)).status).toBe(403);
  });

  it('works once, within a minute, and leads to the document', async () => {
    const anna = await join('carla');
    signedOut(anna);
    const entrance = await entranceOf(anna);
    const entered = await anna.documents.get(entrance);
    expect(targetOf(entered)).toBe('/letter.html');
    expect([entered.headers['cache-control'], entered.headers['referrer-policy']]).toEqual(['no-store', 'no-referrer']);
    expect(await reads(anna)).toBe(true);
    expect((await anna.documents.get(entrance)).status).toBe(403);
    signedOut(anna);
    const late = await entranceOf(anna);
    rig.passTime(61);
    expect((await anna.documents.get(late)).status).toBe(403);
    rig.passTime(-61);
  });

  it('is not had by frames and scripts, and leads nowhere else', async () => {
    const anna = await join('dora');
    const begun = targetOf(await createReader(rig.server).documents.get('/-/begin?to=//evil.example/'));
    expect(new URLSearchParams(begun.split('?')[1]).get('to')).toBe('/');
    for (const [mode, destination] of [
      ['navigate', 'iframe'],
      ['cors', 'empty'],
      ['no-cors', 'image'],
    ] as const) {
      const headers = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': destination };
      expect((await anna.get(begun, headers)).status).toBe(403);
      expect((await anna.documents.get('/-/begin?to=/', headers)).status).toBe(403);
    }
    for (const to of ['https://evil.example/', '/\\evil.example/', '/..//evil.example', '/-/leave', '']) {
      signedOut(anna);
      const asked = targetOf(await anna.documents.get(`/-/begin?to=${encodeURIComponent(to)}`));
      const changed = asked.replace(/to=[^&]*/, `to=${encodeURIComponent(to)}`);
      const entrance = targetOf(await anna.get(changed)).replace(/to=[^&]*/, `to=${encodeURIComponent(to)}`);
      expect((await anna.documents.get(entrance)).headers.location).toBe('/');
    }
    expect((await anna.get('/-/enter?challenge=short&to=/')).status).toBe(403);
  });

  it('attack 93: is neither logged nor stored, nor are tokens and passwords', async () => {
    const anna = await join('emma');
    signedOut(anna);
    const entrance = await entranceOf(anna);
    const code = new URLSearchParams(entrance.split('?')[1]).get('code') ?? '';
    expect(code).toHaveLength(43);
    const { database } = rig.server.state;
    const tables = ['sessions', 'document_sessions', 'entries', 'accounts', 'invitations'];
    const dump = JSON.stringify(await Promise.all(tables.map((table) => database.all(`SELECT * FROM ${table}`))));
    expect(dump).not.toContain(PASSWORD);
    await anna.documents.get(entrance);
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
    expect(targetOf(await anna.documents.get('/letter.html'))).toContain('/-/enter');
    const led = await fetch(`${rig.server.readingUrl}/index.html?q=1`, {
      headers: { cookie: [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      redirect: 'manual',
    });
    expect(led.headers.get('location')).toBe(`${rig.server.documentsUrl}/-/begin?to=%2Findex.html%3Fq%3D1`);
  });

  it('is not begun over and over where a browser keeps no cookies', async () => {
    const anna = await join('ida');
    anna.documents.cookies.clear();
    const asked = targetOf(await anna.documents.get('/letter.html'));
    anna.documents.cookies.clear();
    const page = await anna.documents.get(targetOf(await anna.get(asked)));
    expect([page.status, page.text.includes('keeps no cookies')]).toEqual([403, true]);
  });
});
