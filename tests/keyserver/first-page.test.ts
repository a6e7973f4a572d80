/** The first page of a browser as the reading site answers it, request by request. docs/spec/web-reader.md, "The first page" */
import { createHash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { listen, nameDescriptor, rigForFile } from '../support/keyserver-rig.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createVisitor, type Visitor } from '../support/reading-site-visitor.ts';
import { buildWebReader } from '../support/web-reader.ts';

const OPENED = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const FRAMED = { ...OPENED, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' };
const PAGE = '<!doctype html><title>Front</title><h1>Front</h1>';

const rig = rigForFile({ config: { reading: { listen, documents: { listen } } } });
let documents: Visitor;
beforeAll(async () => {
  await buildWebReader();
  documents = createVisitor(rig.server.documentsUrl);
  await nameDescriptor(rig);
  const html = { mediaType: 'text/html; charset=utf-8' };
  await publish(rig.publisher, rig.host, { ...html, path: '/index.html', content: PAGE });
  await publish(rig.publisher, rig.host, { ...html, path: '/packed.html', content: PAGE, gzip: true, set: 'day-1' });
  await publish(rig.publisher, rig.host, { path: '/list.txt', content: 'a list', mediaType: 'text/plain' });
});

it('puts one script in front of a page in a window, and leaves it as it was for all others', async () => {
  const { status, text, headers } = await documents.get('/', OPENED);
  const [, script = ''] =
    /^<!doctype html><script data-src="[^"]+" data-integrity="[^"]+">(.*)<\/script>/.exec(text) ?? [];
  expect([status, text.replace(/<script.*<\/script>/, '')]).toEqual([200, PAGE]);
  expect(script).toContain('/-/behind');
  // The page is made here, so nothing of what was signed describes it.
  for (const name of ['etag', 'content-length', 'accept-ranges', 'content-encoding'])
    expect(headers).not.toHaveProperty(name);
  expect(headers['cache-control']).toBe('private, no-cache');
  const conditional = await documents.get('/', { ...OPENED, 'if-none-match': '*', range: 'bytes=0-3' });
  expect([conditional.status, conditional.text]).toEqual([200, text]);
  const reader = await rig.join('anna');
  const packed = await reader.documents.get('/packed.html', { ...OPENED, 'accept-encoding': 'gzip, br' });
  expect(packed.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(packed.body).toString()).toBe(text);
  for (const [path, headers, expected] of [
    ['/', FRAMED, PAGE],
    ['/', { ...FRAMED, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }, PAGE],
    ['/', {}, PAGE],
    ['/list.txt', OPENED, 'a list'],
  ] as const)
    expect((await documents.get(path, headers)).text).toBe(expected);
});

it.each([
  ["default-src 'none'", /^frame-src 'self' http:[^ ;]+;script-src-elem 'sha256-[^ ;]+';default-src/],
  ["script-src 'self' 'unsafe-inline'", /^script-src-elem 'self' 'unsafe-inline' ;script-src/],
  ["script-src 'nonce-abc' 'unsafe-inline'", /^script-src-elem 'nonce-abc' 'unsafe-inline' 'sha256-/],
  ["script-src 'self' 'strict-dynamic'; frame-src https://a.example", /frame-src https:\/\/a\.example 'self' http/],
  ["img-src 'self'", /^img-src 'self'$/],
])('widens the signed policy %j by its own script and frames alone', async (policy, expected) => {
  const own = { 'content-security-policy': policy };
  await publish(rig.publisher, rig.host, { path: '/policy.html', content: PAGE, mediaType: 'text/html', headers: own });
  const { headers, text } = await documents.get('/policy.html', { ...OPENED, 'cache-control': 'no-cache' });
  const [signed = '', ...others] = [headers['content-security-policy']].flat();
  expect(signed.replaceAll(/ +/g, ' ')).toMatch(expected);
  expect(signed.endsWith(policy)).toBe(true);
  expect(others).toEqual(["frame-ancestors 'self'"]);
  const digest = createHash('sha256')
    .update(/<script[^>]*>(.*?)<\/script>/s.exec(text)?.[1] ?? '')
    .digest('base64');
  if (signed.includes('sha256-')) expect(signed).toContain(`'sha256-${digest}'`);
});

it('attack 96: takes keys in no frame and from no other page, and repeats them in none', async () => {
  const form = 'sealed=c2VjcmV0&key=a2V5&to=%2Fletter.html';
  const sent = { 'content-type': 'application/x-www-form-urlencoded', origin: rig.server.readingUrl };
  for (const [headers, status] of [
    [{ ...sent, ...OPENED, 'sec-fetch-site': 'same-site' }, 200],
    [{ ...sent, ...FRAMED, 'sec-fetch-site': 'same-site' }, 403],
    [{ ...sent, ...OPENED, origin: rig.server.documentsUrl }, 403],
  ] as const) {
    const answer = await documents.post('/-/keys', form, headers);
    expect([answer.status, answer.text.includes('c2VjcmV0')]).toEqual([status, false]);
  }
  for (const headers of [OPENED, { ...FRAMED, 'sec-fetch-site': 'cross-site' }])
    expect((await documents.get('/-/behind', headers)).status).toBe(403);
  const behind = await documents.get('/-/behind', FRAMED);
  expect(behind.headers['content-security-policy']).toContain("frame-ancestors 'self'");
});

it('lets the vault be in a frame of the documents alone, in silence, and never at the sign-in', async () => {
  const account = createVisitor(rig.server.readingUrl);
  const framed = { ...FRAMED, 'sec-fetch-site': 'same-site' };
  const silent = await account.get('/-/keys?silent=yes', framed);
  expect([silent.status, silent.headers['x-frame-options']]).toEqual([200, undefined]);
  expect(silent.headers['content-security-policy']).toContain(`frame-ancestors ${rig.server.documentsUrl}`);
  for (const path of ['/-/keys', '/-/sign-in', '/-/account', '/-/join']) {
    const { headers } = await account.get(path, framed);
    expect(headers['content-security-policy'], path).toContain("frame-ancestors 'none'");
  }
});

it('starts the reader where a page before permitted no frame, and never where a browser reads without it', async () => {
  const strict = { ...OPENED, cookie: 'wispr-strictly=yes' };
  expect((await documents.get('/', strict)).text).toContain('Opening the page');
  const plain = createVisitor(rig.server.documentsUrl);
  await plain.get('/-/plain?to=/', OPENED);
  const [[name, value] = []] = plain.cookies;
  for (const cookie of [`${name}=${value}`, `${name}=${value}; ${strict.cookie}`])
    expect((await documents.get('/', { ...OPENED, cookie })).text).toBe(PAGE);
});
