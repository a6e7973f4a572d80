import { createServer } from 'node:http';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { describeListening, describeUnwritable, systemReason } from '../../node-support/system-error.ts';
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

it.each([
  ['EADDRINUSE', { port: 80 }, 'cannot listen on port 80: the port is in use by another program: end that one'],
  ['EACCES', { host: '::1', port: 80 }, 'cannot listen on [::1]:80: permission denied: ports below 1024 take root'],
  ['EADDRNOTAVAIL', { host: '192.0.2.1', port: 80 }, 'cannot listen on 192.0.2.1:80: it is no address of this machine'],
])('an address that cannot be listened on, %s, has its own sentence', (code, where, words) => {
  expect(describeListening(where, Object.assign(new Error(code), { code, syscall: 'listen' }))).toContain(words);
});

it('a file in a directory that is missing is said to need that directory', () => {
  const error = Object.assign(new Error('ENOENT: no such file or directory, open'), {
    code: 'ENOENT',
    syscall: 'open',
  });
  expect(describeUnwritable('no/x.key', error)).toBe('cannot write no/x.key: there is no directory no: make it first');
});
