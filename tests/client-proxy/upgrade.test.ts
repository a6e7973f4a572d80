/** Protocols after HTTP on the same connection: WebSocket by upgrade, with a real server and client; with a browser: foreign-page.test.ts. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { refusalCode } from '../support/http-client.ts';
import { lines, passingRig, toRaw } from '../support/passing-rig.ts';
import { rawClient } from '../support/raw-http.ts';

const passing = passingRig();
let echo: WebSocketServer;
let echoPort: number;
beforeAll(async () => {
  echo = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (offered) => [...offered][0] ?? false });
  echo.on('connection', (socket, request) => {
    if (request.url === '/greeting') socket.send('first');
    socket.on('message', (data: RawData, isBinary: boolean) => socket.send(data, { binary: isBinary }));
  });
  await new Promise((resolve) => echo.once('listening', resolve));
  echoPort = (echo.address() as { port: number }).port;
});
afterAll(() => {
  for (const socket of echo.clients) socket.terminate();
  echo.close();
});

/** Opens it as programs do that know of proxies for HTTP only: by a request in absolute form. */
function openThroughProxy(path: string): WebSocket {
  const authority = `127.0.0.1:${echoPort}`;
  return new WebSocket(`ws://${authority}${path}`, ['chat'], {
    createConnection: () => connect(passing.rig.proxy.port, '127.0.0.1'),
    finishRequest: (request) => {
      request.path = `http://${authority}${path}`;
      request.end();
    },
  });
}

const asksFor = (protocol: string, ...fields: string[]) =>
  toRaw('GET', 'Connection: keep-alive, Upgrade', `Upgrade: ${protocol}`, ...fields);

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
    passing.answer = (_head, socket) => {
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
    const client = await passing.begin(`${asksFor('odd/7, other', 'X-Kept: 1')}early from the client, `);
    const head = await client.until(/\r\n\r\nearly from the host$/);
    expect(head).toMatch(
      /^HTTP\/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: odd\/7\r\nX-Kept: \xe9\r\nVia: 1.1 wispr\r\n\r\n/,
    );
    expect(passing.heads[0]).toMatch(/^Upgrade: odd\/7, other$/m);
    expect(passing.heads[0]).toMatch(/^Connection: Upgrade$/m);
    client.send('the end');
    expect(await ended.promise).toMatch(/early from the client, the end$/);
  });

  it('that the host does not grant is answered as it answers', async () => {
    passing.says('HTTP/1.1 403 Not You\r\nContent-Length: 4\r\nX-Why: y\r\n\r\nnope');
    const client = await passing.begin(asksFor('websocket'));
    expect(await client.ended()).toMatch(
      /^HTTP\/1.1 403 Not You\r\nContent-Length: 4\r\nX-Why: y\r\n[\s\S]*\r\n\r\nnope$/,
    );
  });

  it('that was not asked for is refused; and so is a host that breaks off', async () => {
    passing.ends('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    expect(refusalCode(await passing.ask())).toBe('host-answer');
    passing.answer = (_head, socket) => socket.destroy();
    const client = await passing.begin(asksFor('websocket'));
    expect(await client.ended()).toMatch(/^HTTP\/1.1 502 [\s\S]*wispr-refusal: host-unreachable/);
  });

  it('to HTTP/2 in clear is left out, and the request is like any other', async () => {
    passing.says('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const client = await passing.begin(
      asksFor('h2c', 'Connection: HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA'),
    );
    await client.until('\r\n\r\nok');
    expect(passing.heads[0]).not.toMatch(/upgrade|http2/i);
  });

  it('of a connected site, or of the Reader’s pages, is as if it were not there', async () => {
    await passing.rig.publisher.publish(passing.rig.host.files, '/a.html', { content: 'signed' });
    for (const [target, expected] of [
      [passing.rig.url('/a.html'), 'signed'],
      ['/', 'Your sites'],
    ] as const) {
      const host = target === '/' ? `localhost:${passing.rig.proxy.port}` : 'news.example';
      const wish = ['Connection: Upgrade', 'Upgrade: websocket'];
      const client = await passing.begin(lines(`GET ${target} HTTP/1.1`, `Host: ${host}`, ...wish));
      expect(await client.until(expected)).toMatch(/^HTTP\/1.1 200 OK/);
    }
  });

  it('of a connected site, while the Reader is locked, is refused like every request for it', async () => {
    await passing.rig.proxy.lock.lock();
    try {
      for (const protocol of ['TLS/1.2', 'websocket']) {
        const client = await passing.begin(
          `GET http://news.example/ HTTP/1.1\r\nHost: news.example\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
        );
        expect(await client.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 503 [\s\S]*wispr-refusal: reader-locked/);
      }
    } finally {
      await passing.rig.proxy.lock.unlock();
    }
    expect((await passing.ask(passing.rig.url('/a.html'))).text).toBe('signed');
  });

  it('whose client breaks off before the host answers ends that connection, not the Reader', async () => {
    const asked = Promise.withResolvers<Socket>();
    passing.answer = (_head, socket) => asked.resolve(socket);
    const client = await passing.begin(asksFor('websocket'));
    const host = await asked.promise;
    const left = new Promise((resolve) => host.once('close', resolve));
    client.socket.resetAndDestroy();
    await left;
    expect((await passing.ask(passing.rig.url('/a.html'))).text).toBe('signed');
  });

  it('that is answered with a long body gets all of it, as fast as the client takes it', async () => {
    const body = 'x'.repeat(3_000_000);
    passing.says(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const client = await passing.begin(asksFor('websocket'));
    const received = await client.ended();
    expect(received.length - received.indexOf('\r\n\r\n') - 4).toBe(body.length);
  });

  it('ends with the proxy', async () => {
    const remote = Promise.withResolvers<Socket>();
    passing.answer = (_head, socket) => {
      remote.resolve(socket);
      socket.write('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    };
    const own = await passing.rig.another({ connectTo: [parseConnectTo(`:80:127.0.0.1:${passing.raw.port}`)] });
    const client = await rawClient(own.port);
    client.send(asksFor('x'));
    await client.until('101');
    await own.close();
    await client.ended();
    const host = await remote.promise;
    await expect.poll(() => host.destroyed).toBe(true);
  });
});
