import { createServer } from 'node:http';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { systemReason } from '../../node-support/system-error.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';

it('a host that answers TLS with plain HTTP is said not to speak TLS, on one line', async () => {
  const server = createServer();
  const url = `https://127.0.0.1:${await listenOnLoopback(server)}/`;
  const error = await request(url).catch((thrown: unknown) => thrown);
  await closeServer(server);
  expect(systemReason(error)).toBe('it does not speak TLS');
});

it.each([
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND news.example', 'there is no such name'],
  ['EAI_AGAIN', 'getaddrinfo EAI_AGAIN news.example', 'no name server answers'],
  ['ENOSPC', 'ENOSPC: no space left on device, write', 'no space is left'],
])('%s is said in words', (code, message, words) => {
  expect(systemReason(Object.assign(new Error(message), { code, syscall: message.split(' ')[0] }))).toBe(words);
});
