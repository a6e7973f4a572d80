/** The gateway's own answers: links that stay in it, what is said of a document that was changed, redirects, and spellings of an address. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import { bindSite, parseConnectTo } from '../../../client-proxy/index.ts';
import { startContentHost } from '../../support/content-host.ts';
import { forFile } from '../../support/for-file.ts';
import { HostileKeyServer } from '../../support/hostile-key-server.ts';
import { refusalCode, send } from '../../support/http-client.ts';
import { startHostileReaderRig } from '../../support/reader-rig.ts';
import { TEST_SETTINGS } from '../../support/test-publication.ts';
import { TestPublisher } from '../../support/test-publisher.ts';

const PAGE = `<p>é\r\n<a href="http://news.example/b.html">b</a> <img src="//news.example/p.png">
<a href="https://second.example/">sister</a> <a href="http://stranger.example/">stranger</a> <link rel=canonical href="http://news.example/">`;

const SITES = ['news.example', 'second.example'];
const rig = forFile(() => {
  const sites = () => SITES.map((site) => ({ site, content: [`http://${site}`], reading: `https://read.${site}` }));
  return startHostileReaderRig(undefined, { sites, confirm: SITES });
});
const strangers = forFile(async () => HostileKeyServer.start(await TestPublisher.create('stranger.example')));
let origin: string;
let sister: string;
beforeAll(async () => {
  const content = await startContentHost();
  await strangers.publisher.sign(content.files);
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${content.port}`)];
  await bindSite({ ...rig.storage, connectTo, link: await strangers.invite(), trustSites: ['stranger.example'] });
  await content.close();
  const originOf = async (site: string) => ((await rig.proxy.gatewayUrl(site)) ?? '').slice(0, -1);
  [origin, sister] = [await originOf('news.example'), await originOf('second.example')];
  const { publisher, host } = rig;
  publisher.afterPublishing = async () => undefined; // nothing was read yet, and of the other sites there is nothing to read
  const headers = {
    'content-security-policy': "img-src http://news.example 'self'",
    link: '<https://news.example/s.css>; rel=preload; as=style, <http://news.example/a.html>; rel="canonical"',
  };
  await publisher.publish(host.files, '/a.html', { content: PAGE, metadata: { headers, lastModified: 1_700_000_000 } });
  const coded = { contentCoding: 'gzip', mediaType: 'text/css; charset=utf-8' } as const;
  const style = gzipSync('a{b:url(http://news.example/p.png)}');
  await publisher.publish(host.files, '/s.css', { content: style, metadata: coded });
  await publisher.publish(host.files, '/p.png', { content: PAGE, metadata: { mediaType: 'image/png' } });
  await publisher.publish(host.files, '/latin.html', { content: PAGE, metadata: { mediaType: 'text/html' } });
  await publisher.publishSigned(host.files, '/404.html', { content: PAGE });
  publisher.publication.setSettings({
    ...TEST_SETTINGS,
    cleanUrls: true,
    notFound: '/404.html',
    redirects: [
      { from: '/own', status: 301, to: 'https://news.example/a.html?q#f' },
      { from: '/sister', status: 302, to: 'https://second.example/a.html' },
      { from: '/stranger', status: 302, to: 'https://stranger.example/' },
    ],
  });
  await publisher.sign(host.files);
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, path, { method, headers: { host: new URL(origin).host, ...headers } });
const rewritten = () =>
  PAGE.replace('http://news.example/b', `${origin}/b`)
    .replace('//news.example/p', `${origin}/p`)
    .replace('https://second.example', sister);

describe('a page with links to its own site', () => {
  it("keeps them in the gateway, and those to other sites of its publisher; it does not learn of other publishers'", async () => {
    expect((await get('/a.html')).text).toBe(rewritten());
    expect((await get('/a')).text).toBe(rewritten());
    const missing = await get('/none');
    expect([missing.status, missing.text]).toEqual([404, rewritten()]);
  });

  it('comes byte for byte through the proxy, and where its charset is not known', async () => {
    const answer = await send(rig.proxy.port, rig.url('/a.html'));
    expect([answer.text, answer.headers['content-length']]).toEqual([PAGE, String(Buffer.byteLength(PAGE))]);
    expect(answer.headers.link).toContain('<https://news.example/s.css>');
    expect((await get('/latin.html')).text).toBe(PAGE);
    expect((await get('/p.png')).text).toBe(PAGE);
  });

  it('says of itself what is true of it as it is sent', async () => {
    const proxied = await send(rig.proxy.port, rig.url('/a.html'));
    const answer = await get('/a.html', { range: 'bytes=0-3', 'accept-encoding': 'gzip' });
    expect(answer.status).toBe(200);
    const { headers } = answer;
    for (const absent of [
      ...['content-length', 'content-encoding', 'accept-ranges', 'last-modified', 'content-range', 'content-md5'],
      'repr-digest',
    ])
      expect([absent, headers[absent]]).toEqual([absent, undefined]);
    expect(headers.etag).toMatch(/^"[\w-]+-[\w-]{12}"$/);
    expect(headers.etag).not.toBe(proxied.headers.etag);
    expect(headers['content-security-policy']).toContain(`img-src ${origin} 'self'`);
    expect(headers.link).toBe(
      `<${origin}/s.css>; rel=preload; as=style, <http://news.example/a.html>; rel="canonical"`,
    );
    const head = await get('/a.html', {}, 'HEAD');
    const { date: _, 'transfer-encoding': _transfer, ...rest } = headers;
    const { date: _date, 'transfer-encoding': _none, ...headRest } = head.headers;
    expect([head.status, headRest]).toEqual([200, rest]);
  });

  it('has a validator of its own: 304 for it, and for no other', async () => {
    const { headers } = await get('/a.html');
    for (const method of ['GET', 'HEAD']) {
      const answer = await get('/a.html', { 'if-none-match': headers.etag ?? '' }, method);
      expect([answer.status, answer.headers.etag, answer.text]).toEqual([304, headers.etag, '']);
    }
    const proxied = await send(rig.proxy.port, rig.url('/a.html'));
    expect((await get('/a.html', { 'if-none-match': proxied.headers.etag ?? '' })).status).toBe(200);
    // The date is that of the document before the gateway rewrote it.
    const date = proxied.headers['last-modified'] ?? '';
    expect([date === '', (await get('/a.html', { 'if-modified-since': date })).status]).toEqual([false, 200]);
    expect(
      (await send(rig.proxy.port, rig.url('/a.html'), { headers: { 'if-none-match': headers.etag ?? '' } })).status,
    ).toBe(200);
  });

  it('has the same validator after a new start, and another at another port', async () => {
    const port = await freePort();
    await rig.restart({ port });
    origin = ((await rig.proxy.gatewayUrl('news.example')) ?? '').slice(0, -1);
    const { headers } = await get('/a.html');
    await rig.restart({ port });
    expect((await get('/a.html')).headers.etag).toBe(headers.etag);
    await rig.restart();
    expect(rig.proxy.port).not.toBe(port);
    origin = ((await rig.proxy.gatewayUrl('news.example')) ?? '').slice(0, -1);
    sister = ((await rig.proxy.gatewayUrl('second.example')) ?? '').slice(0, -1);
    expect((await get('/a.html')).headers.etag).not.toBe(headers.etag);
    expect((await get('/a.html')).text).toBe(rewritten());
  });

  it('can be a style sheet, whose coding is undone', async () => {
    for (const accepted of ['gzip', 'identity']) {
      const answer = await get('/s.css', { 'accept-encoding': accepted });
      expect([answer.text, answer.headers['content-encoding']]).toEqual([`a{b:url(${origin}/p.png)}`, undefined]);
      const again = await get('/s.css', { 'accept-encoding': accepted, 'if-none-match': answer.headers.etag ?? '' });
      expect(again.status).toBe(304);
    }
  });
});

it.each([
  ['/own', 301, () => '/a.html?q#f'],
  ['/sister', 302, () => `${sister}/a.html`],
  ['/stranger', 302, () => 'https://stranger.example/'],
])('a redirect from %s stays in the gateway if its destination is there', async (path, status, location) => {
  const answer = await get(path);
  expect([answer.status, answer.headers.location]).toEqual([status, location()]);
});

describe('attack 88: other spellings of an address in the gateway', () => {
  it.each(['/a.html?x', '/%61.html', '/a%2Ehtml', '/a.html#f'])('%s is the document', async (path) => {
    expect([path, (await get(path)).text]).toEqual([path, rewritten()]);
  });

  it('so is its host in capitals, or with a final dot', async () => {
    const { host, hostname, port } = new URL(origin);
    for (const spelling of [host.toUpperCase(), `${hostname}.:${port}`])
      expect([spelling, (await get('/a.html', { host: spelling })).text]).toEqual([spelling, rewritten()]);
  });
});

it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
  'attack 81: %s, to which the language has given a meaning, is no document, site or label',
  async (name) => {
    expect((await get(`/${name}`)).status).toBe(404);
    expect((await send(rig.proxy.port, `${rig.url('/')}${name}`)).status).toBe(404);
    const { port } = rig.proxy;
    const label = await get('/a.html', { host: `${name.replaceAll('_', '-')}.localhost:${port}` });
    expect([label.status, refusalCode(label)]).toEqual([403, 'host-unknown']);
    const passed = await send(port, `http://${name}/a.html`);
    expect(passed.text).not.toContain('news.example/b.html'); // a text of another site, whatever it is
  },
);
