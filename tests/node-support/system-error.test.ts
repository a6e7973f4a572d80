import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { systemReason } from '../../node-support/system-error.ts';

it('a host that answers TLS with plain HTTP is said not to speak TLS, on one line', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const error = await request(`https://127.0.0.1:${port}/`).catch((thrown: unknown) => thrown);
  server.close();
  expect(systemReason(error)).toBe('it does not speak TLS');
});

it.each([
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND news.example', 'there is no such name'],
  ['EAI_AGAIN', 'getaddrinfo EAI_AGAIN news.example', 'no name server answers'],
  ['ENOSPC', 'ENOSPC: no space left on device, write', 'no space is left'],
])('%s is said in words', (code, message, words) => {
  expect(systemReason(Object.assign(new Error(message), { code, syscall: message.split(' ')[0] }))).toBe(words);
});
