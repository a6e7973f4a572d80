/** Other protocols on a connection that began with HTTP: WebSocket by upgrade and by tunnel, with a real server, client and browser. */
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { launchChromium } from '../support/chromium.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { rawClient, startRawHost } from '../support/raw-http.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

let rig: ReaderRig;
/** Echoes what it gets. */
let echo: WebSocketServer;
let echoPort: number;
let raw: Awaited<ReturnType<typeof startRawHost>>;
let answer: (head: string, socket: Socket) => void;
const heads: string[] = [];
beforeAll(async () => {
  rig = await startReaderRig();
  echo = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (offered) => [...offered][0] ?? false });
  echo.on('connection', (socket, request) => {
    if (request.url === '/greeting') socket.send('first');
    socket.on('message', (data: RawData, isBinary: boolean) => socket.send(data, { binary: isBinary }));
  });
  await new Promise((resolve) => echo.once('listening', resolve));
  echoPort = (echo.address() as { port: number }).port;
  raw = await startRawHost((head, socket) => {
    heads.push(head);
    answer(head, socket);
  });
});
afterAll(async () => {
  for (const socket of echo.clients) socket.terminate();
  echo.close();
  await raw.close();
  await rig.close();
});

/** As programs do it that know of proxies for HTTP only: the request in absolute form. */
function openThroughProxy(path: string): WebSocket {
  const authority = `127.0.0.1:${echoPort}`;
  return new WebSocket(`ws://${authority}${path}`, ['chat'], {
    createConnection: () => connect(rig.proxy.port, '127.0.0.1'),
    finishRequest: (request) => {
      request.path = `http://${authority}${path}`;
      request.end();
    },
  });
}

const asksFor = (protocol: string, ...fields: string[]) =>
  [
    'GET http://127.0.0.1:PORT/ HTTP/1.1',
    'Host: x',
    'Connection: keep-alive, Upgrade',
    `Upgrade: ${protocol}`,
    ...fields,
    '',
    '',
  ]
    .join('\r\n')
    .replace('PORT', String(raw.port));

describe('an upgrade', () => {
  it('to WebSocket carries messages both ways, also those sent at once, and its end', async () => {
    const socket = openThroughProxy('/greeting');
    const messages: string[] = [];
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.on('message', (data) => messages.push(data.toString()));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    expect(socket.protocol).toBe('chat');
    const large = 'x'.repeat(3_000_000);
    socket.send('second');
    socket.send(large);
    await expect.poll(() => messages.length).toBe(3);
    expect(messages).toEqual(['first', 'second', large]);
    socket.close(4000);
    expect(await closed).toBe(4000);
  });

  it('to any other protocol is passed, with early bytes of both sides; each may end its direction', async () => {
    const ended = Promise.withResolvers<string>();
    answer = (_head, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching\r\nUpgrade: odd/7\r\nConnection: Upgrade, X-Own\r\nX-Own: 1\r\nX-Kept: \xe9\r\n\r\nearly from the host',
        'latin1',
      );
      let got = '';
      socket.on('data', (part: Buffer) => {
        got += part.toString('latin1');
        if (got.endsWith('end')) ended.resolve(got);
      });
    };
    heads.length = 0;
    const client = await rawClient(rig.proxy.port);
    client.send(`${asksFor('odd/7, other', 'X-Kept: 1')}early from the client, `);
    const head = await client.until(/\r\n\r\nearly from the host$/);
    expect(head).toMatch(
      /^HTTP\/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: odd\/7\r\nX-Kept: \xe9\r\nVia: 1.1 wispr\r\n\r\n/,
    );
    expect(heads[0]).toMatch(/^Upgrade: odd\/7, other$/m);
    expect(heads[0]).toMatch(/^Connection: Upgrade$/m);
    client.send('the end');
    expect(await ended.promise).toMatch(/early from the client, the end$/);
    client.close();
  });

  it('that the host does not grant is answered as it answers', async () => {
    answer = (_head, socket) => socket.write('HTTP/1.1 403 Not You\r\nContent-Length: 4\r\nX-Why: y\r\n\r\nnope');
    const client = await rawClient(rig.proxy.port);
    client.send(asksFor('websocket'));
    expect(await client.ended()).toMatch(
      /^HTTP\/1.1 403 Not You\r\nContent-Length: 4\r\nX-Why: y\r\n[\s\S]*\r\n\r\nnope$/,
    );
  });

  it('that was not asked for is refused; and so is a host that breaks off', async () => {
    answer = (_head, socket) => socket.end('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    expect(refusalCode(await send(rig.proxy.port, `http://127.0.0.1:${raw.port}/`))).toBe('host-answer');
    answer = (_head, socket) => socket.destroy();
    const client = await rawClient(rig.proxy.port);
    client.send(asksFor('websocket'));
    expect(await client.ended()).toMatch(/^HTTP\/1.1 502 [\s\S]*wispr-refusal: host-unreachable/);
  });

  it('to HTTP/2 in clear is left out, and the request is like any other', async () => {
    heads.length = 0;
    answer = (_head, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const client = await rawClient(rig.proxy.port);
    client.send(asksFor('h2c', 'Connection: HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA'));
    await client.until('\r\n\r\nok');
    expect(heads[0]).not.toMatch(/upgrade|http2/i);
    client.close();
  });

  it('of a connected site, or of the Reader’s pages, is as if it were not there', async () => {
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
    for (const [target, expected] of [
      [rig.url('/a.html'), 'signed'],
      ['/', 'Your sites'],
    ] as const) {
      const client = await rawClient(rig.proxy.port);
      const host = target === '/' ? `localhost:${rig.proxy.port}` : 'news.example';
      client.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
      expect(await client.until(expected)).toMatch(/^HTTP\/1.1 200 OK/);
      client.close();
    }
  });

  it('of a connected site, while the Reader is locked, is refused like every request for it', async () => {
    await rig.proxy.lock.lock();
    try {
      for (const protocol of ['TLS/1.2', 'websocket']) {
        const client = await rawClient(rig.proxy.port);
        client.send(
          `GET http://news.example/ HTTP/1.1\r\nHost: news.example\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
        );
        expect(await client.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 503 [\s\S]*wispr-refusal: reader-locked/);
        client.close();
      }
    } finally {
      await rig.proxy.lock.unlock();
    }
    expect((await send(rig.proxy.port, rig.url('/a.html'))).text).toBe('signed');
  });

  it('whose client breaks off before the host answers ends that connection, not the Reader', async () => {
    const asked = Promise.withResolvers<Socket>();
    answer = (_head, socket) => asked.resolve(socket);
    const client = await rawClient(rig.proxy.port);
    client.send(asksFor('websocket'));
    const host = await asked.promise;
    const left = new Promise((resolve) => host.once('close', resolve));
    client.socket.resetAndDestroy();
    await left;
    expect((await send(rig.proxy.port, rig.url('/a.html'))).text).toBe('signed');
  });

  it('that is answered with a long body gets all of it, as fast as the client takes it', async () => {
    const body = 'x'.repeat(3_000_000);
    answer = (_head, socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const client = await rawClient(rig.proxy.port);
    client.send(asksFor('websocket'));
    const received = await client.ended();
    expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(body.length);
  });

  it('ends with the proxy', async () => {
    const own = await startReaderRig();
    let remote: Duplex | undefined;
    answer = (_head, socket) => {
      remote = socket;
      socket.write('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    };
    const client = await rawClient(own.proxy.port);
    client.send(asksFor('x'));
    await client.until('101');
    await own.close();
    await client.ended();
    await expect.poll(() => remote?.destroyed).toBe(true);
  });
});

describe('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium(
      `--proxy-server=http://127.0.0.1:${rig.proxy.port}`,
      '--proxy-bypass-list=<-loopback>',
    );
  });
  afterAll(() => browser.close());

  it('a page that passes through opens a WebSocket, and uploads and streams as without the proxy', async () => {
    rig.host.handlers.set('/socket.html', (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>page</title>'),
    );
    rig.host.handlers.set('/count', (request, response) => {
      let length = 0;
      request.on('data', (part: Buffer) => {
        length += part.length;
      });
      request.on('end', () => response.end(String(length)));
    });
    const page = await browser.newPage();
    await page.goto('http://elsewhere.example/socket.html');
    const got = await page.evaluate(
      (url) =>
        new Promise<string>((resolve) => {
          const socket = new globalThis.WebSocket(url); // the browser’s, not the one of the test
          socket.onmessage = ({ data }) => resolve(String(data));
          socket.onerror = () => resolve('failed');
          socket.onopen = () => socket.send('from the browser');
        }),
      `ws://127.0.0.1:${echoPort}/`,
    );
    expect(got).toBe('from the browser');
    const length = await page.evaluate(async () => {
      const response = await fetch('/count', { method: 'POST', body: new Blob([new Uint8Array(5_000_000)]) });
      return response.text();
    });
    expect(length).toBe('5000000');
    await page.close();
  });
});
