import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { gatewayLabel } from '../../client-proxy/gateway/label.ts';
import { bindSite, parseConnectTo } from '../../client-proxy/index.ts';
import { launchChromium } from '../support/chromium.ts';
import { startContentHost } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { HostileKeyServer } from '../support/hostile-key-server.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { ISOLATED, isolationOf } from '../support/isolated.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const rig = forFile(startHostileReaderRig);
let host: string;
beforeAll(async () => {
  host = new URL((await rig.proxy.gatewayUrl('news.example')) ?? '').host;
  const headers = {
    'content-security-policy': "default-src 'self'",
    'permissions-policy': 'camera=(), loopback-network=*',
  };
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'through the gateway', metadata: { headers } });
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, path, { method, headers: { host, ...headers } });

const values = (answer: { rawHeaders: string[] }, name: string) =>
  answer.rawHeaders.filter((_, index) => index % 2 === 1 && answer.rawHeaders[index - 1]?.toLowerCase() === name);

describe('the gateway', () => {
  it('serves documents, with the signed headers and what keeps others out', async () => {
    const answer = await get('/a.html');
    expect([answer.status, answer.text]).toEqual([200, 'through the gateway']);
    expect(values(answer, 'content-security-policy')).toEqual(["default-src 'self'", "frame-ancestors 'self'"]);
    expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin');
    expect(answer.headers['cross-origin-opener-policy']).toBe('same-origin');
    expect(values(answer, 'permissions-policy')).toEqual([
      expect.stringMatching(/^camera=\(\), loopback-network=\*, .*loopback-network=\(\)/),
    ]);
  });

  it('does so in absolute form too, as browsers that use the proxy for everything ask', async () => {
    expect((await send(rig.proxy.port, `http://${host}/a.html`)).text).toBe('through the gateway');
  });

  it.each([
    ['a page of its own', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['the address bar', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    [
      'a link elsewhere',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    ],
  ])('serves %s', async (_, headers) => {
    expect((await get('/a.html', headers)).status).toBe(200);
  });

  it.each([
    ['script', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
    ['image', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
    ['fetch', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    [
      'image of another gateway site',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    ],
    ['request with an Origin alone', { origin: 'http://evil.example' }],
  ])('refuses a %s of a foreign page', async (_, headers) => {
    const answer = await get('/a.html', headers as unknown as Record<string, string>);
    expect([answer.status, refusalCode(answer)]).toEqual([403, 'cross-site']);
    expect(answer.text).not.toContain('through the gateway');
    const isShown = ['iframe', undefined].includes((headers as Record<string, string>)['sec-fetch-dest']);
    expect(answer.text !== '').toBe(isShown); // a script could take it for data
    expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  it('attack 76: installs no service worker, at this door or through the proxy', async () => {
    const page = {
      'sec-fetch-site': 'same-origin',
      'sec-fetch-mode': 'same-origin',
      'sec-fetch-dest': 'serviceworker',
    };
    const headers = { ...page, 'service-worker': 'script' };
    for (const answer of [await get('/a.html', headers), await send(rig.proxy.port, rig.url('/a.html'), { headers })]) {
      expect([answer.status, refusalCode(answer)]).toEqual([405, 'method-refused']);
      expect(answer.text).not.toContain('through the gateway');
    }
  });

  it('attack 76: installs no service worker in a real browser, which may run scripts of the same site', async () => {
    await rig.publisher.publish(rig.host.files, '/sw.js', { content: '', metadata: { mediaType: 'text/javascript' } });
    await rig.publisher.publish(rig.host.files, '/page.html', { content: '<script src="/sw.js"></script>' });
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://${host}/page.html`);
    const install = (path: string) =>
      page.evaluate((url) => navigator.serviceWorker.register(url).then(String, ({ name }) => String(name)), path);
    expect(await page.evaluate('isSecureContext')).toBe(true);
    expect(await install('/sw.js')).not.toContain('ServiceWorkerRegistration');
  });

  it('isolates pages, their workers and frames whose publisher signed that, and shows refusals in such frames', async () => {
    for (const { path, content, mediaType, headers } of ISOLATED)
      await rig.publisher.publish(rig.host.files, path, { content, metadata: { mediaType, headers } });
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://${host}/isolated.html`);
    const frames = ['Frame', expect.stringMatching(/./)];
    expect(await isolationOf(page)).toEqual({ page: true, memory: 'function', worker: true, frames });
  });

  it('knows only its own names', async () => {
    for (const name of ['news.example', 'unknown.localhost', `a.${host}`, 'evil.example']) {
      const answer = await get('/a.html', { host: name.includes(':') ? name : `${name}:${rig.proxy.port}` });
      expect([name, answer.status, refusalCode(answer)]).toEqual([name, 403, 'host-unknown']);
    }
    expect((await get('/a.html', { host: host.toUpperCase() })).status).toBe(200);
    expect((await get('/a.html', { host: host.replace(/:\d+/, ':1') })).status).toBe(403);
  });
});

describe("the reader's own page", () => {
  it('lists the connected sites, and a site connected while it runs', async () => {
    const publisher = await TestPublisher.create('<b>.example'.replace(/[<>]/g, 'x'));
    const keyServer = await HostileKeyServer.start(publisher);
    keyServer.descriptor = publisher.descriptor(keyServer.origin, { name: '<script>alert(1)</script>' });
    publisher.setDescriptor(keyServer.descriptor);
    for (const own of [`localhost:${rig.proxy.port}`, `127.0.0.1:${rig.proxy.port}`]) {
      const answer = await get('/', { host: own });
      expect(answer.text).toContain(`href="http://${host}/"`);
      expect(answer.text).not.toContain(publisher.site);
    }
    const content = await startContentHost();
    await publisher.sign(content.files);
    const connectTo = [parseConnectTo(`:80:127.0.0.1:${content.port}`)];
    await bindSite({ ...rig.storage, connectTo, link: await keyServer.invite(), trustSites: [publisher.site] });
    await content.close();
    const answer = await get('/', { host: `localhost:${rig.proxy.port}` });
    expect(answer.text).toContain(`href="${await rig.proxy.gatewayUrl(publisher.site)}"`);
    expect(answer.text).toContain('&lt;script&gt;');
    expect(answer.text).not.toContain('<script');
    await keyServer.close();
  });

  it('is for no other site, and is not that of a gateway', async () => {
    const own = { host: `localhost:${rig.proxy.port}` };
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
    expect((await get('/', { ...own, ...image })).status).toBe(403);
    expect((await get('/a.html', { host: `127.0.0.1:${rig.proxy.port}` })).status).toBe(404);
  });
});

it('a label is one DNS label for every site', async () => {
  const sites = [
    'news.example',
    'news-example',
    'xn--bcher-kva.example',
    `${'a'.repeat(63)}.${'b'.repeat(63)}.example`,
    '1.a-'.repeat(3).slice(0, -1),
  ];
  const labels = await Promise.all(sites.map(gatewayLabel));
  expect(new Set(labels).size).toBe(labels.length);
  for (const label of labels) {
    expect(label).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    expect(label).not.toContain('--');
  }
  expect(labels[0]).toMatch(/^news-example-[a-z2-7]{10}$/);
});
