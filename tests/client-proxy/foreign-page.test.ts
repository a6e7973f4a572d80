/**
 * Pages that pass through, in a real browser whose proxy is the Reader: what they can do, and row 78 of the attack list: browsers tell plain-http
 * origins nothing of who asks.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { launchChromium } from '../support/chromium.ts';
import { forFile } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const PAPER = 'http://news.example';
const EMBEDDED = `<script src="${PAPER}/data.js"></script><img src="${PAPER}/p.svg"><iframe src="${PAPER}/page.html"></iframe>`;

const rig = forFile(startHostileReaderRig);
const browser = forFile(() => launchChromium(`--proxy-server=${rig.proxy.url}`, '--proxy-bypass-list=<-loopback>'));
beforeAll(async () => {
  const publish = (path: string, content: string, mediaType = 'text/html; charset=utf-8') =>
    rig.publisher.publish(rig.host.files, path, { content, metadata: { mediaType } });
  await publish('/data.js', 'window.taken = "for subscribers only";', 'text/javascript; charset=utf-8');
  await publish('/p.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="37" height="11"/>', 'image/svg+xml');
  await publish('/page.html', '<h1>for subscribers only</h1>');
  await publish('/own.html', EMBEDDED);
  rig.host.handlers.set('/foreign.html', (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`${EMBEDDED}<a href="${PAPER}/page.html">read</a>`),
  );
});

/** Returns what a page got hold of. */
async function taken(page: Page) {
  return {
    script: await page.evaluate('window.taken'),
    width: await page.evaluate('document.images[0].naturalWidth'),
    frame: (await page.frames()[1]?.content())?.includes('for subscribers only'),
  };
}

describe('attack 78: a page of another site', () => {
  it('loads no script, image or frame of a connected site through the proxy; its links work', async () => {
    const page = await browser.newPage();
    await page.goto('http://evil.example/foreign.html', { waitUntil: 'load' });
    expect(await taken(page)).toEqual({ script: undefined, width: 0, frame: false });
    expect(rig.host.requests.map(({ url }) => url)).toEqual(
      expect.arrayContaining(['/data.js', '/p.svg', '/page.html'].map((path) => rig.publisher.fileOf(path))),
    );
    await page.click('a');
    await page.waitForURL(`${PAPER}/page.html`);
    expect(await page.textContent('h1')).toBe('for subscribers only');
    await page.close();
  });

  it("the connected site's own pages load all of it", async () => {
    const page = await browser.newPage();
    await page.goto(`${PAPER}/own.html`, { waitUntil: 'load' });
    expect(await taken(page)).toEqual({ script: 'for subscribers only', width: 37, frame: true });
    await page.close();
  });

  it.each([
    ['script', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }],
    ['frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
    ['fetch', { origin: 'http://evil.example' }],
  ])('is refused where the browser says that it is a %s', async (_, headers) => {
    const answer = await send(rig.proxy.port, rig.url('/page.html'), { headers: headers as Record<string, string> });
    expect([answer.status, refusalCode(answer)]).toEqual([403, 'cross-site']);
  });

  it('its links, the own pages, and programs that are no browsers are served', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
      { origin: PAPER },
      {},
    ])
      expect(
        (await send(rig.proxy.port, rig.url('/page.html'), { headers: headers as Record<string, string> })).status,
      ).toBe(200);
  });
});

it('in Chromium a page that passes through opens a WebSocket, and uploads and streams as without the proxy', async () => {
  const echo = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => void echo.close());
  echo.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))));
  await once(echo, 'listening');
  rig.host.handlers.set('/count', (request, response) => {
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
    });
    request.on('end', () => response.end(String(length)));
  });
  const page = await browser.newPage();
  await page.goto('http://elsewhere.example/foreign.html');
  const got = await page.evaluate(
    (url) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(url);
        socket.onmessage = ({ data }) => resolve(String(data));
        socket.onerror = () => resolve('failed');
        socket.onopen = () => socket.send('from the browser');
      }),
    `ws://127.0.0.1:${(echo.address() as AddressInfo).port}/`,
  );
  expect(got).toBe('from the browser');
  const length = await page.evaluate(async () => {
    const response = await fetch('/count', { method: 'POST', body: new Blob([new Uint8Array(5_000_000)]) });
    return response.text();
  });
  expect(length).toBe('5000000');
  await page.close();
});
