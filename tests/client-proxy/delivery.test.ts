/** When the memory of what was sent is given back: not before the system has taken all of it. */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { deliver } from '../../client-proxy/documents/delivery.ts';
import { giveBack } from '../../core/primitives/give-back.ts';

/** More than the system holds of a connection whose other end takes nothing. */
const LENGTH = 32 * 1024 * 1024;
const FILL = 0x57;

it.each([1, 4])('what comes in %i pieces is whole, though its memory is given back as it leaves', async (pieces) => {
  const spent: Uint8Array[] = [];
  const server = createServer((_request, response) => {
    const delivery = { status: 200, headers: { 'content-length': String(LENGTH) }, length: LENGTH };
    const spend = (piece: Uint8Array) => {
      spent.push(piece);
      giveBack(piece.buffer);
    };
    void deliver(response, { ...delivery, content: content(pieces), spend });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [answer] = (await once(get({ port, host: '127.0.0.1', agent: false }), 'response')) as [IncomingMessage];
  expect(spent.length).toBeLessThan(pieces); // a piece waits for the client
  const received = await buffer(answer);
  expect(received.length).toBe(LENGTH);
  expect(received.every((byte) => byte === FILL)).toBe(true);
  await expect.poll(() => spent.length).toBe(pieces);
  expect(spent.every(({ length }) => length === 0)).toBe(true);
  server.close();
});

async function* content(pieces: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < pieces; index++) yield new Uint8Array(LENGTH / pieces).fill(FILL);
}
