/** Attack 127: connections that say nothing, or half of something, at every listener; ten thousand of them: tests/release/load. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ClientConnections, serverOptions } from '../../node-support/client-connections.ts';
import { createServer } from '../../node-support/http.ts';
import { listenOnLoopback } from '../support/content-host.ts';
import { startListeners } from '../support/listeners.ts';
import { isOpen, openMany, rawClient } from '../support/raw-http.ts';

const BOUND = 20;
let listeners: Awaited<ReturnType<typeof startListeners>>;
/** Relays have fixed times, longer than a test. */
const isRelay = ({ name }: { readonly name: string }) => name === 'near relay';
beforeAll(async () => {
  listeners = await startListeners({ clientConnections: BOUND, requestHead: 400 });
});
afterAll(() => listeners.close());

const SAID = {
  nothing: '',
  'half a head': 'GET / HTTP/1.1\r\nHost: x\r\nX-A: ',
  'no HTTP': 'nonsense\r\n\r\n',
  'half a body': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf',
};

/** Waits until a connection is gone at the other side, and not only ended: then writing fails. */
async function gone(port: number, bytes: string): Promise<void> {
  const client = await rawClient(port);
  const closed = new Promise((resolve) => void client.socket.once('close', resolve));
  client.send(bytes);
  await client.ended();
  const writing = setInterval(() => client.socket.write('x'), 100);
  await closed;
  clearInterval(writing);
}

it('attack 127: closes connections that say nothing, half a request or no HTTP, though their client does not, at every listener', async () => {
  const waiting = listeners.all
    .filter((each) => !isRelay(each))
    .flatMap(({ name, port, isProxy }) =>
      Object.entries(SAID)
        .filter(([what]) => !isProxy || what !== 'half a body') // an upload to the Reader may take what it takes
        .map(async ([what, bytes]) => gone(port, bytes).then(() => `${name}: ${what}`)),
    );
  expect(await Promise.all(waiting)).toHaveLength(8 * 4 - 2);
});

it.each(['', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf'])(
  'attack 127: serves others while connections that say %j take all places, at every listener',
  async (said) => {
    for (const { port, host, path } of listeners.all.filter((each) => !isRelay(each))) {
      const sockets = await openMany(port, 3 * BOUND);
      for (const socket of sockets) socket.write(said);
      const client = await rawClient(port);
      client.send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(await client.ended()).toMatch(/^HTTP\/1\.1 \d{3} /);
      expect(sockets.filter(isOpen).length).toBeLessThanOrEqual(BOUND);
      for (const socket of [...sockets, client.socket]) socket.destroy();
    }
  },
);

it('attack 127: serves others while connections that take no answer take all places', async () => {
  const limits = { clientConnections: BOUND, pipelined: 1, requestHead: 30_000, clientIdle: 5000 };
  const server = createServer(serverOptions(limits, { maxHeaderSize: 16_384, requestTimeout: 0 }));
  const large = Buffer.alloc(32 * 1024 * 1024);
  let answered = 0;
  new ClientConnections(limits).serve(server, ({ url }, response) => {
    response.end(url === '/large' ? large : 'small');
    answered++;
  });
  const port = await listenOnLoopback(server);
  const greedy = await Promise.all(Array.from({ length: BOUND }, () => rawClient(port)));
  for (const { socket, send } of greedy) {
    socket.pause();
    send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  await expect.poll(() => answered).toBe(BOUND);
  const client = await rawClient(port);
  client.send('GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(await client.ended()).toContain('small');
  for (const { socket } of greedy) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});
