/** Addresses of clients behind proxies. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clientAddress, trustedProxies, wholeAddress } from '../../node-support/client-address.ts';

const trusted = trustedProxies(['127.0.0.1', '192.0.2.128/25', '2001:db8:1::/48']);

it.each([
  ['198.51.100.1', undefined, '198.51.100.1', 'no proxy'],
  ['198.51.100.1', '203.0.113.1', '198.51.100.1', 'a proxy that is not trusted'],
  ['127.0.0.1', '203.0.113.1', '203.0.113.1', 'a trusted proxy'],
  ['::ffff:127.0.0.1', '203.0.113.1', '203.0.113.1', 'a trusted proxy, as a socket for both families names it'],
  ['127.0.0.1', '198.51.100.9, 203.0.113.1 , 192.0.2.200', '203.0.113.1', 'the last that is no trusted proxy'],
  ['127.0.0.1', '192.0.2.129, 192.0.2.200', '192.0.2.129', 'nothing but proxies'],
  ['2001:db8:1::7', '2001:db8:2:3ff::1', '2001:db8:2:300::/56', 'IPv6'],
  ['127.0.0.1', '203.0.113.1:5678', '203.0.113.1', 'an address with a port'],
  ['127.0.0.1', '[2001:db8:2::1]:5678', '2001:db8:2::/56', 'an IPv6 address with a port'],
  ['127.0.0.1', '[2001:db8:2::1]', '2001:db8:2::/56', 'an IPv6 address in brackets'],
  ['127.0.0.1', 'fe80::1%eth0', 'fe80::/56', 'an address with a zone'],
  ['127.0.0.1', '::ffff:203.0.113.1', '203.0.113.1', 'an IPv4 address written as IPv6'],
  ['127.0.0.1', '203.0.113.9, 192.0.2.129:80', '203.0.113.9', 'a further proxy with a port'],
  ['127.0.0.1', '203.0.113.1, 203.0.113.1:x', '127.0.0.1', 'an address with no port behind the colon'],
  ['127.0.0.1', 'unknown', '127.0.0.1', 'no address'],
  ['127.0.0.1', '', '127.0.0.1', 'an empty header'],
])('a request from %s with X-Forwarded-For %s is of %s: %s', (remoteAddress, forwarded, address, _case) => {
  const headers = { 'x-forwarded-for': forwarded };
  expect(clientAddress({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trusted)).toBe(address);
});

it.each([
  ['::1', '2001:db8:2::1', '2001:db8:2::1'],
  ['::ffff:127.0.0.1', '::ffff:203.0.113.1', '203.0.113.1'],
])('a request from %s with X-Forwarded-For %s is, in full, of %s', (remoteAddress, forwarded, address) => {
  const request = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } };
  expect(wholeAddress(request as unknown as IncomingMessage, trustedProxies(['loopback']))).toBe(address);
});

/** Trust in a proxy that writes `Forwarded`. */
const writesForwarded = trustedProxies(['127.0.0.1', '192.0.2.128/25'], 'forwarded');
const from = (headers: object, isTrusted = trusted) =>
  clientAddress({ socket: { remoteAddress: '127.0.0.1' }, headers } as unknown as IncomingMessage, isTrusted);

it.each([
  ['for=203.0.113.1;proto=https;by=_proxy', '203.0.113.1', 'an address'],
  ['for=198.51.100.9, For="[2001:db8:2::1]:4711";host="a;for=198.51.100.7"', '2001:db8:2::/56', 'IPv6 with a port'],
  ['for="[2001:db8:3::1]", for="203.0.113.1:80", for=192.0.2.200', '203.0.113.1', 'a chain of proxies'],
  ['for=203.0.113.1;;host=a:8443;', '203.0.113.1', 'empty pairs, and no quotation marks'],
  ['for=_hidden', '127.0.0.1', 'a name'],
  ['for="x, for=203.0.113.1', '127.0.0.1', 'a quotation mark that a client left open'],
  ['for=1.2.3.4;x=", for="[2001:db8::1]"', '127.0.0.1', 'one that ends in the quotation mark of the proxy'],
  ['for=1.2.3.4;x=", for=203.0.113.1;host="a.example"', '127.0.0.1', 'one that ends in another value of the proxy'],
  ['for=1.2.3.4, x, for=203.0.113.1', '127.0.0.1', 'what is no pair'],
  ['for=1.2.3.4, proto=https', '127.0.0.1', 'a proxy that names nobody'],
  ['for=1.2.3.4, for=203.0.113.1;for=1.2.3.4', '127.0.0.1', 'two addresses of one proxy'],
  ['for=203.0.113.1,', '127.0.0.1', 'an end that is missing'],
])('a request with Forwarded %s is of %s: %s (attack 135)', (forwarded, address, _case) => {
  expect(from({ forwarded }, writesForwarded)).toBe(address);
});

it('reads the one header that the proxies write, since the other one is the client’s (attack 135)', () => {
  const both = { forwarded: 'for=203.0.113.1', 'x-forwarded-for': '198.51.100.1' };
  expect([from(both), from(both, writesForwarded)]).toEqual(['198.51.100.1', '203.0.113.1']);
});

it('takes no text of a proxy for an address, and no port for another client', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[\da-f:.[\]%," =for;]{0,40}$/), fc.ipV4(), fc.ipV6());
  fc.assert(
    fc.property(text, fc.nat(65_535), (named, port) => {
      for (const address of [from({ 'x-forwarded-for': named }), from({ forwarded: named }, writesForwarded)])
        expect(isIP(address.split('/')[0] ?? '')).toBeGreaterThan(0);
      if (isIP(named) === 0) return;
      const withPort = isIP(named) === 6 ? `[${named}]:${port}` : `${named}:${port}`;
      expect(from({ 'x-forwarded-for': withPort })).toBe(from({ 'x-forwarded-for': named }));
      expect(from({ forwarded: `for="${withPort}"` }, writesForwarded)).toBe(from({ 'x-forwarded-for': named }));
    }),
  );
});
