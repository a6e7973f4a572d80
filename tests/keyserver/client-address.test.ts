/** Whose request it is, behind proxies. */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { clientAddress, trustedProxies } from '../../keyserver/http/client-address.ts';

const trusted = trustedProxies(['127.0.0.1', '192.0.2.128/25', '2001:db8:1::/48']);

it.each([
  ['198.51.100.1', undefined, '198.51.100.1', 'no proxy'],
  ['198.51.100.1', '203.0.113.1', '198.51.100.1', 'a proxy that is not trusted'],
  ['127.0.0.1', '203.0.113.1', '203.0.113.1', 'a trusted proxy'],
  ['::ffff:127.0.0.1', '203.0.113.1', '203.0.113.1', 'a trusted proxy, as a socket for both families names it'],
  ['127.0.0.1', '198.51.100.9, 203.0.113.1 , 192.0.2.200', '203.0.113.1', 'the last that is no trusted proxy'],
  ['127.0.0.1', '192.0.2.129, 192.0.2.200', '192.0.2.129', 'nothing but proxies'],
  ['2001:db8:1::7', '2001:db8:2:3ff::1', '2001:db8:2:300::/56', 'IPv6'],
  ['127.0.0.1', '203.0.113.1:5678', '127.0.0.1', 'an address with a port'],
  ['127.0.0.1', '[2001:db8:2::1]:5678', '127.0.0.1', 'an IPv6 address with a port'],
  ['127.0.0.1', 'unknown', '127.0.0.1', 'no address'],
  ['127.0.0.1', '', '127.0.0.1', 'an empty header'],
])('a request from %s with X-Forwarded-For %s is of %s: %s', (remoteAddress, forwarded, address, _case) => {
  const headers = { 'x-forwarded-for': forwarded };
  expect(clientAddress({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trusted)).toBe(address);
});
