/** The proxy auto-configuration file: what it says, and to whom. */
import vm from 'node:vm';
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { proxyFile } from '../../../client-proxy/gateway/proxy-file.ts';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { refusalCode, send } from '../../support/http-client.ts';
import { startHostileReaderRig } from '../../support/reader-rig.ts';

const rig = forFile(startHostileReaderRig);
let file: string;
beforeAll(async () => {
  file = `http://127.0.0.1:${rig.proxy.port}/proxy.pac`;
  await rig.publisher.publish(rig.host.files, '/a.html', { content: '<h1>for subscribers</h1>' });
});

const get = (headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, '/proxy.pac', { method, headers });

/** Returns what a browser would do with an address. */
function decide(text: string, url: string): string {
  const context = vm.createContext({ url, host: new URL(url).hostname });
  return vm.runInContext(`${text};FindProxyForURL(url, host)`, context, { timeout: 1000 });
}

describe('the proxy file', () => {
  it('is served as what it is, and for every connected site', async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/x-ns-proxy-autoconfig',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'content-length': String(answer.body.length),
    });
    expect(decide(answer.text, 'http://news.example/a.html')).toBe(`PROXY 127.0.0.1:${rig.proxy.port}`);
    const head = await get({}, 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(answer.headers['content-length']);
    expect(refusalCode(await get({}, 'POST'))).toBe('method-refused');
  });

  it.each([
    ['http://news.example/', 'PROXY 127.0.0.1:8001'],
    ['http://news.example:8080/x?y', 'PROXY 127.0.0.1:8001'],
    ['HTTP://NEWS.Example./', 'PROXY 127.0.0.1:8001'],
    ['https://news.example/', 'DIRECT'],
    ['ws://news.example/', 'DIRECT'],
    ['ftp://news.example/', 'DIRECT'],
    ['http://www.news.example/', 'DIRECT'],
    ['http://news.example.evil.example/', 'DIRECT'],
    ['http://constructor/', 'DIRECT'],
    ['http://127.0.0.1:8001/', 'DIRECT'],
    ['http://label.localhost:8001/', 'DIRECT'],
    ['http://other.example/?http://news.example/', 'DIRECT'],
    ['http://192.0.2.1/a/', 'PROXY 127.0.0.1:8001'],
    ['http://[2001:db8::1]/a/', 'PROXY 127.0.0.1:8001'],
  ])('sends %s: %s', (url, decision) => {
    const hosts = ['news.example', 'xn--bcher-kva.example', '192.0.2.1', '[2001:db8::1]'];
    expect(decide(proxyFile(hosts, 8001), url)).toBe(decision);
  });

  it('is sound whatever the names of sites are, and holds no name that is none', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (names) => {
        const text = proxyFile(['news.example', ...names, '"];evil()//', '-evil', 'a\u2028b'], 8001);
        expect(text).not.toMatch(/evil|\u2028/);
        expect(decide(text, 'http://other.example/')).toBe('DIRECT');
        expect(decide(text, 'http://news.example/')).toBe('PROXY 127.0.0.1:8001');
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['script of a page', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
    ['link', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    ['page of a gateway', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['page of an old browser', { referer: 'http://evil.example/' }],
    ['page with an Origin', { origin: `http://127.0.0.1:1` }],
  ])('is refused to a %s', async (_, headers) => {
    const answer = await get(headers as unknown as Record<string, string>);
    expect([answer.status, refusalCode(answer)]).toEqual([403, 'cross-site']);
    expect(answer.text).not.toContain('FindProxyForURL');
  });

  it('is not there under foreign names, or in gateways', async () => {
    expect(refusalCode(await get({ host: `evil.example:${rig.proxy.port}` }))).toBe('host-unknown');
    const host = new URL((await rig.proxy.gatewayUrl('news.example')) ?? '').host;
    expect(refusalCode(await get({ host }))).toBe('no-such-document');
  });
});

it('in a real browser, connected sites come through the Reader, others do not, and no page reads the file', async () => {
  rig.host.handlers.set('/foreign.html', (_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<script src="${file}"></script><script>loaded = typeof FindProxyForURL</script>`),
  );
  const direct = `http://127.0.0.1:${rig.host.port}/foreign.html`;
  const browser = await launchChromium(`--proxy-pac-url=${file}`);
  onTestFinished(() => browser.close());
  const page: Page = await browser.newPage();
  const answer = await page.goto('http://news.example/a.html');
  expect(await page.textContent('h1')).toBe('for subscribers');
  expect(answer?.headers().via).toContain('wispr');
  const foreign = await page.goto(direct);
  expect(foreign?.headers().via).toBeUndefined();
  expect(await page.evaluate('loaded')).toBe('undefined');
  const read = (mode: RequestMode) =>
    page.evaluate(
      ([url, how]) =>
        fetch(url as string, { mode: how as RequestMode }).then(
          (it) => it.text(),
          () => 'failed',
        ),
      [file, mode],
    );
  expect([await read('cors'), await read('no-cors')]).toEqual(['failed', expect.not.stringContaining('Find')]);
});
