/** Everything that is not a connected site passes through untouched: the forward proxy, its tunnels, and a parent proxy. */
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { redirect } from '../../client-proxy/network/connect-to.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { ELSEWHERE, lines, passingRig } from '../support/passing-rig.ts';
import { rawClient, standsStill } from '../support/raw-http.ts';

const passing = passingRig();

describe('a site that is not connected', () => {
  it('may be carrying protected objects, which pass through as they are, and the first page offers to connect it', async () => {
    const { publisher, host, proxy } = passing.rig;
    const object = await publisher.object('/a.html', { content: 'x' });
    host.files.set('/a.html.protected', object);
    const answer = await passing.ask(`${ELSEWHERE}/a.html.protected`);
    expect([answer.body.equals(object), answer.headers['content-type']]).toEqual([true, 'application/cache-protected']);
    const home = await passing.ask('/', { headers: { host: `localhost:${proxy.port}` } });
    expect(home.text).toContain('elsewhere.example');
  });

  it('streams: the first bytes come before the last are sent', async () => {
    let finish: () => void = () => undefined;
    passing.on('/stream', (_, response) => {
      response.write('first');
      finish = () => response.end('last');
    });
    const one = await passing.begin(lines(`GET ${ELSEWHERE}/stream HTTP/1.1`, 'Host: x'));
    expect(await one.until('first')).not.toContain('last');
    finish();
    await one.until('last');
  });

  it('streams no faster than the client takes it', async () => {
    let written = 0;
    passing.on('/flood', (_, response) => {
      const more = () => {
        do written += 65_536;
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', more);
      more();
    });
    const { socket } = await passing.begin(lines(`GET ${ELSEWHERE}/flood HTTP/1.1`, 'Host: x'));
    socket.pause();
    await expect.poll(() => written).toBeGreaterThan(0);
    await standsStill(() => written);
    expect(written).toBeLessThan(30_000_000);
  });
});

describe('requests that are refused', () => {
  it.each([
    ['https://elsewhere.example/', 400, 'bad-request'],
    ['ftp://elsewhere.example/', 400, 'bad-request'],
    ['http://user@elsewhere.example/', 400, 'bad-request'],
    ['http://elsewhere.example:99999/', 400, 'bad-request'],
    ['http:///path', 400, 'bad-request'],
    ['http://a..b/', 400, 'bad-request'],
    ['http://elsewhere.example:25/', 403, 'port-refused'],
    ['http://news.example:8080/', 403, 'port-refused'],
    ['http://NEWS.example.:81/', 403, 'port-refused'],
  ])('%s', async (target, status, code) => {
    const text = await passing.sendRaw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text).toContain(`wispr-refusal: ${code}`);
  });

  it('one that comes back to the proxy under another name', async () => {
    const { rig } = passing;
    const looping = await rig.another({ connectTo: [] });
    await looping.close();
    const { port } = looping;
    const proxy = await rig.another({ port, connectTo: [parseConnectTo(`:80:127.0.0.1:${port}`)] });
    expect((await send(proxy.port, `http://localtest.example:${port}/`)).status).toBe(502);
    for (const url of ['http://elsewhere.example/', rig.url('/a.html')])
      expect(refusalCode(await send(proxy.port, url))).toBe('loop');
    expect(await connectTo(proxy.port, 'elsewhere.example:80')).toMatch(/^HTTP\/1.1 508 /);
  });
});

/** The answer to a CONNECT request that is refused. */
const connectTo = (port: number, authority: string) =>
  sendRaw(port, lines(`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`));

/** The port of a server until the test is over. */
function listening(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  return listenOnLoopback(server);
}

describe('tunnels', () => {
  it('carry bytes both ways, untouched, also those that came at once', async () => {
    const port = await listening(createTcpServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
    const one = await passing.begin(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\nearly`);
    await one.until(/^HTTP\/1.1 200 [\s\S]*\r\n\r\nearly$/);
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
    one.socket.end(bytes);
    expect((await one.ended()).slice(-bytes.length) === bytes.toString('latin1')).toBe(true);
  });

  it.each([
    ['NEWS.example.:80', 403, 'port-refused'],
    ['news.example', 400, 'bad-request'],
    ['127.0.0.1:9', 502, 'host-unreachable'],
  ])('to %s are refused', async (authority, status, code) => {
    const answer = await connectTo(passing.rig.proxy.port, authority);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain(`wispr-refusal: ${code}`);
  });

  it('end when the proxy stops', async () => {
    const held: Socket[] = [];
    const port = await listening(createTcpServer((socket) => held.push(socket)));
    const proxy = await passing.rig.another();
    const one = await rawClient(proxy.port);
    one.send(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await one.until('200');
    await proxy.close();
    await one.ended();
    for (const socket of held) socket.destroy();
  });
});

describe('a parent proxy', () => {
  it('gets all plain HTTP in absolute form, documents and the rest, with ranges', async () => {
    const { rig } = passing;
    const seen: string[] = [];
    const parent = createServer(({ method, url = '', headers }, response) => {
      seen.push(`${method} ${url} ${headers.host} ${headers['proxy-authorization'] ?? ''}`.trim());
      const file = rig.host.files.get(new URL(url).pathname);
      const [, first, last] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? [];
      if (!file) response.writeHead(404).end('parent');
      else if (first) response.writeHead(206).end(file.subarray(Number(first), Number(last) + 1));
      else response.end(file);
    });
    onTestFinished(() => closeServer(parent));
    const { port } = await rig.another({ parentProxy: `http://me:secret@127.0.0.1:${await listenOnLoopback(parent)}` });
    const content = Buffer.alloc(2_000_000, 'film');
    await rig.publisher.publish(rig.host.files, '/film', { content });
    expect((await send(port, rig.url('/film'))).body.equals(content)).toBe(true);
    const part = await send(port, rig.url('/film'), { headers: { range: 'bytes=1500000-1500003' } });
    expect([part.status, part.text]).toEqual([206, 'film']);
    expect((await send(port, `${ELSEWHERE}:8080/x?y`)).text).toBe('parent');
    const file = rig.publisher.fileOf('/film');
    expect(seen).toContain(`GET http://news.example${file} news.example Basic bWU6c2VjcmV0`);
    expect(seen.at(-1)).toBe('GET http://elsewhere.example:8080/x?y elsewhere.example:8080 Basic bWU6c2VjcmV0');
    expect(await connectTo(port, '127.0.0.1:9')).toMatch(/^HTTP\/1.1 502 /); // tunnels go straight
    expect(seen.some((line) => line.startsWith('CONNECT'))).toBe(false);
  });

  it('that is this very proxy is not asked: nothing goes round in a circle', async () => {
    const { rig } = passing;
    const { port, ...looping } = await rig.another();
    await looping.close();
    const refused: string[] = [];
    const onRefusal = ({ code }: { code: string }) => refused.push(code);
    await rig.another({ port, parentProxy: `http://127.0.0.1:${port}`, onRefusal });
    const passed = await send(port, `${ELSEWHERE}/`);
    expect([passed.status, refusalCode(passed)]).toEqual([508, 'loop']);
    expect(passed.headers.via ?? '').not.toContain(','); // the first passage refused it, not a later one
    expect(refusalCode(await send(port, rig.url('/a.html')))).toBe('loop');
    expect(new Set(refused)).toEqual(new Set(['loop']));
  });

  it.each([
    ...['nonsense', 'https://127.0.0.1:3128', 'socks5://127.0.0.1', 'https://me:topsecret@h/'],
    ...['http://me:topsecret@h/path', 'http://me:top/topsecret@h/', 'http://me:topsecret', 'http://me%zz:topsecret@h'],
  ])('that is not an HTTP proxy is refused at the start, without its password: %s', async (parentProxy) => {
    const error: unknown = await passing.rig.another({ parentProxy }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'argument-invalid' });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('topsecret');
  });
});

describe('--connect-to', () => {
  it.each([
    ['a:80:b:81', 'a:80', 'b:81'],
    ['a:80:b:81', 'A:80', 'b:81'],
    ['a:80:b:81', 'c:80', 'c:80'],
    [':80:b:', 'x:80', 'b:80'],
    ['a::b:', 'a:443', 'b:443'],
    ['::b:81', 'x:1', 'b:81'],
    ['a:80::81', 'a:80', 'a:81'],
    ['[::1]:80:[::2]:81', '::1:80', '::2:81'],
  ])('%s sends %s to %s', async (rule, from, to) => {
    const cut = from.lastIndexOf(':');
    const target = redirect({ host: from.slice(0, cut), port: Number(from.slice(cut + 1)) }, [parseConnectTo(rule)]);
    expect(`${target.host}:${target.port}`).toBe(to);
  });

  it.each(['', 'a', 'a:80', 'a:80:b', 'a:80:b:81:c', 'a:x:b:81', 'a:0:b:1', 'a:80:b:99999', '::1:80:b:81'])(
    '%j is refused',
    (rule) => {
      expect(() => parseConnectTo(rule)).toThrow(expect.objectContaining({ code: 'argument-invalid' }));
    },
  );
});
