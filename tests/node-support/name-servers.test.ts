import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAllowLocal } from '../../client-proxy/network/local-addresses.ts';
import { Upstream } from '../../client-proxy/network/upstream.ts';
import { startFar } from '../../link/relay/far.ts';
import { STATUS, writeOpening } from '../../link/relay/opening.ts';
import { nameResolver, parseHosts } from '../../node-support/name-servers.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';

let dns: DnsServer;
beforeEach(async () => {
  dns = await startDnsServer();
  dns.addresses.set('host.test', '127.0.0.1');
});
afterEach(() => dns.close());

describe('addresses of names', () => {
  it('are asked for once at a time for each name, by both families, and again later', async () => {
    const resolve = nameResolver([dns.address]);
    const expected = [{ address: '127.0.0.1', family: 4 }];
    expect(await Promise.all([resolve('host.test'), resolve('HOST.test.')])).toEqual([expected, expected]);
    expect(dns.questions).toEqual(['host.test', 'host.test']);
    await resolve('host.test');
    expect(dns.questions).toHaveLength(4);
  });

  it('are not asked for again soon where there are none, and say which failure it is', async () => {
    const resolve = nameResolver([dns.address]);
    for (const [name, code] of [
      ['nobody.invalid', 'ENOTFOUND'],
      ['x.broken', 'EAI_AGAIN'],
    ] as const) {
      await expect(resolve(name)).rejects.toMatchObject({ code });
      const { length } = dns.questions;
      await expect(resolve(name)).rejects.toMatchObject({ code });
      expect(dns.questions).toHaveLength(length);
    }
  });

  it('finds localhost, addresses and names of the hosts file without a name server', async () => {
    const resolve = nameResolver([dns.address]);
    for (const name of ['localhost', 'x.LOCALHOST.'])
      expect(await resolve(name)).toContainEqual({ address: '127.0.0.1', family: 4 });
    expect(await resolve('::1')).toEqual([{ address: '::1', family: 6 }]);
    for (const name of ['no-such-printer', 'no-such-printer.local']) await expect(resolve(name)).rejects.toThrow();
    expect(dns.questions).toEqual([]); // the own network's names are asked of nobody else
    expect(parseHosts('# x y\n10.0.0.1\tOne two # three\r\n::5 one\n10.0.0 four\n')).toEqual(
      new Map([
        ['one', [4, 6].map((family) => ({ address: family === 4 ? '10.0.0.1' : '::5', family }))],
        ['two', [{ address: '10.0.0.1', family: 4 }]],
      ]),
    );
  });
});

describe('other names resolve beside twelve whose name server is silent (attack 134)', () => {
  const server = createServer((_, response) => response.end('here'));
  let port: number;
  beforeAll(async () => {
    port = await listenOnLoopback(server);
  });
  afterAll(() => closeServer(server));
  const silent = Array.from({ length: 12 }, (_, index) => `n${index}.silent`);
  /** Waits until each of them was asked for. */
  const allAsked = () => expect.poll(() => dns.questions).toEqual(expect.arrayContaining(silent));

  it('in a Reader', async () => {
    await using upstream = new Upstream({
      allowLocal: [parseAllowLocal('127.0.0.1')],
      resolve: nameResolver([dns.address]),
    });
    const ask = (host: string) =>
      upstream
        .pass({ host, port, path: '/' }, 'GET', [], true)
        .on('error', () => undefined)
        .end();
    const waiting = silent.map(ask);
    await allAsked();
    const [answer] = await once(ask('host.test'), 'response');
    expect(answer.statusCode).toBe(200);
    expect(waiting.filter(({ destroyed }) => destroyed)).toEqual([]);
  });

  it('at the far relay of a link', async () => {
    const far = await startFar({
      listen: '127.0.0.1:0',
      allowLocal: ['127.0.0.1'],
      store: join(temporaryFolder(), 'far.db'),
      resolve: nameResolver([dns.address]),
    });
    const ask = (host: string) => {
      const near = connect(far.port, '127.0.0.1').on('error', () => undefined);
      near.write(writeOpening({ host, port, isPlain: true }));
      return near;
    };
    const waiting = silent.map(ask);
    await allAsked();
    const near = ask('host.test');
    expect((await once(near, 'data'))[0]).toEqual(Buffer.of(STATUS.connected));
    expect(waiting.filter(({ readableEnded }) => readableEnded)).toEqual([]);
    await far.close();
  });
});
