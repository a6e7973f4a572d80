/** Crowds of clients, slow clients and clients elsewhere, at a Reader with small limits; ten thousand at once: tests/release/load. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS, type Limits } from '../../client-proxy/limits.ts';
import { forFile } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { isOpen, openMany, rawClient } from '../support/raw-http.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const rig = forFile(startHostileReaderRig);

/** Starts one more Reader with other limits. */
async function startWith(changes: Partial<Limits>) {
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${rig.host.port}`)];
  return rig.another({ connectTo, cacheBytes: 0, limits: { ...DEFAULT_LIMITS, ...changes } });
}

describe('attack 65: connections beyond the bound', () => {
  it('make room for new ones oldest first, but never one that has a request under way', async () => {
    const { port } = await startWith({ clientConnections: 20 });
    let release: () => void = () => undefined;
    rig.host.handlers.set('/held', (_, response) => {
      release = () => response.end('held');
    });
    const held = await rawClient(port);
    held.send('GET http://elsewhere.example/held HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => rig.host.requests.some(({ url }) => url === '/held')).toBe(true);
    const sockets = await openMany(port, 60);
    await expect.poll(() => sockets.filter(isOpen).length).toBeLessThanOrEqual(20);
    expect(sockets.slice(0, 30).some(isOpen)).toBe(false);
    expect(isOpen(sockets.at(-1) as Socket)).toBe(true);
    release();
    await held.until('held');
    for (const socket of sockets) socket.destroy();
    held.close();
  });

  it('all with a request under way keep further ones out, and none of them is lost', async () => {
    const { port } = await startWith({ clientConnections: 5 });
    const responses: (() => void)[] = [];
    rig.host.handlers.set('/busy', (_, response) => responses.push(() => response.end('done')));
    const all = await Promise.all(Array.from({ length: 5 }, () => rawClient(port)));
    for (const one of all) one.send('GET http://elsewhere.example/busy HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => responses.length).toBe(5);
    const late = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(late, 'close');
    for (const respond of responses) respond();
    await Promise.all(all.map((one) => one.until('done')));
    for (const one of all) one.close();
  });
});

it('attack 65: a crowd of requests for documents asks a content host on no more connections than the bound, and everybody is answered', async () => {
  const names = Array.from({ length: 12 }, (_, n) => `/${n}.txt`);
  await rig.publisher.together(rig.host.files, async () => {
    for (const name of names) await rig.publisher.publish(rig.host.files, name, { content: name });
  });
  let [underWay, most] = [0, 0];
  for (const [path, bytes] of rig.host.files) {
    if (!path.endsWith('.protected')) continue;
    rig.host.handlers.set(path, (_, response) => {
      most = Math.max(most, ++underWay);
      response.once('close', () => underWay--).writeHead(200, { 'content-type': 'application/cache-protected' });
      setTimeout(() => response.end(bytes), 50);
    });
  }
  const { port } = await startWith({ contentConnections: 3 });
  const answers = await Promise.all(names.map((name) => send(port, rig.url(name))));
  expect(answers.map(({ text }) => text)).toEqual(names);
  expect(most).toBe(3);
});

describe('attack 65: the slow', () => {
  it('client that stops in the midst of a request is let go of, and so is what was asked for it', async () => {
    const { port } = await startWith({ clientSilence: 500 });
    const closed = Promise.withResolvers<boolean>();
    rig.host.handlers.set('/stalled', (request) => {
      request.on('error', () => undefined).on('close', () => closed.resolve(request.complete));
      request.resume();
    });
    const client = await rawClient(port);
    client.send('POST http://elsewhere.example/stalled HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
    await client.ended();
    expect(await closed.promise).toBe(false);
  });

  it('host that stops in the midst of an answer leaves it visibly incomplete', async () => {
    const { port } = await startWith({ passingSilence: 500 });
    rig.host.handlers.set('/half', (_, answer) => void answer.writeHead(200, { 'content-length': 10 }).write('half'));
    const got = await send(port, 'http://elsewhere.example/half');
    expect([got.text, got.complete]).toEqual(['half', false]);
  });
});

it('attack 64: other computers cannot reach the proxy, which listens on loopback only', async () => {
  const port = `:${rig.proxy.port.toString(16).toUpperCase().padStart(4, '0')}`;
  const LISTEN = '0A';
  const listening = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/net/${name}`, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, local = '', , state] = line.trim().split(/\s+/);
        return state === LISTEN && local.endsWith(port) ? [local.slice(0, -port.length)] : [];
      }),
  );
  expect(listening).toContain('0100007F'); // 127.0.0.1, as the kernel writes it
  expect(listening.filter((address) => !['0100007F', `${'0'.repeat(24)}01000000`].includes(address))).toEqual([]);
  const others = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const addresses = others.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
  for (const address of ['127.0.0.2', ...addresses])
    await expect(rawClient(rig.proxy.port, address)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
