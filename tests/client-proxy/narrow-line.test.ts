/** A Reader with an empty cache, and a line forty times as fast as a satellite telephone's, with times a fortieth as long or less. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { forEachTest } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

/** Bytes a second, each way. */
const RATE = 12_000;
const PIECE = 300;
const ignore = () => undefined;
const rig = forEachTest(startHostileReaderRig);

/** Line that all connections share. */
async function startLine(port: number) {
  const connections = new Set<Socket>();
  const counts = { opened: 0 };
  const lines = { up: Promise.resolve(), down: Promise.resolve() };
  const through = (way: 'up' | 'down') =>
    new Transform({
      async transform(chunk: Buffer, _encoding, done) {
        for (let at = 0; at < chunk.length; at += PIECE) {
          const piece = chunk.subarray(at, at + PIECE);
          lines[way] = lines[way].then(() => pause((piece.length / RATE) * 1000));
          await lines[way];
          this.push(piece);
        }
        done();
      },
    });
  const server = createServer((near) => {
    counts.opened++;
    const far = connect(port, '127.0.0.1');
    for (const one of [near, far]) connections.add(one.on('error', ignore));
    pipeline(near, through('up'), far).catch(ignore);
    pipeline(far, through('down'), near).catch(ignore);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const one of connections) one.destroy();
  });
  return { port: (server.address() as AddressInfo).port, counts };
}

it('reads on, one connection at a time, as long as bytes come; a host that sends next to nothing is refused', async () => {
  const documents = new Map(['/a.bin', '/b.bin', '/c.bin'].map((path) => [path, randomBytes(3_000)]));
  rig.publisher.afterPublishing = async () => undefined; // the Reader has not seen it
  await rig.publisher.together(rig.host.files, async () => {
    for (const [path, content] of documents) await rig.publisher.publish(rig.host.files, path, { content });
  });
  const line = await startLine(rig.host.port);
  const { limits } = rig;
  onTestFinished(() => void Object.assign(limits, DEFAULT_LIMITS));
  const short = { timestampTimeout: 100, metadataTimeout: 100, checkTimeout: 200, openTimeout: 400 };
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${line.port}`)];
  Object.assign(rig.limits, short, { slowestByte: 0 });
  await rig.restart({ connectTo });
  const read = (path: string) => send(rig.proxy.port, rig.url(path));
  const refused = await read('/a.bin');
  expect([refused.status, refusalCode(refused)]).toEqual([502, expect.any(String)]);
  Object.assign(rig.limits, { slowestByte: DEFAULT_LIMITS.slowestByte, slowConnect: 0 });
  await rig.restart({ connectTo });
  expect((await read('/a.bin')).body.equals(documents.get('/a.bin') as Buffer)).toBe(true);
  line.counts.opened = 0;
  const bodies = await Promise.all(Array.from(documents.keys(), async (path) => (await read(path)).body));
  expect(bodies).toEqual([...documents.values()]);
  expect(line.counts.opened).toBeLessThanOrEqual(1);
  rig.host.handlers.set(rig.publisher.fileOf('/b.bin'), (_, response) => void response.writeHead(200).write('w'));
  await rig.restart({ connectTo, cacheBytes: 0 });
  Object.assign(rig.limits, { openTimeout: 300 });
  expect((await read('/b.bin')).status).toBe(502);
});
