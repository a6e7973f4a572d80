import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type DishonestCache, startDishonestCache } from '../../serve/dishonest-cache.ts';
import { close, listen } from '../../serve/hosts.ts';

let servers: Server[];
let cache: DishonestCache;
/** HOST:PORT of a server that the cache has nothing to do with. */
let other: string;

beforeEach(async () => {
  servers = ['the host', 'another server'].map((name) => createServer((_, response) => response.end(name)));
  const [host = '', another = ''] = await Promise.all(servers.map((server) => listen(server)));
  cache = await startDishonestCache(host);
  other = another.slice('http://'.length);
});

afterEach(async () => {
  await cache.stop();
  await Promise.all(servers.map(close));
});

it.each(['/a', '//OTHER/a', 'http://OTHER/a', '//[', '//'])('asks its host and no other for %s', async (target) => {
  expect(await ask(target.replace('OTHER', other))).toMatch(/\r\n\r\nthe host$/);
});

async function ask(target: string): Promise<string> {
  const socket = connect(Number(new URL(cache.url).port), '127.0.0.1');
  socket.write(`GET ${target} HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n`);
  return (await text(socket)).replace(/\r\n\r\n[0-9a-f]+\r\n(.*)\r\n0\r\n\r\n$/, '\r\n\r\n$1');
}
