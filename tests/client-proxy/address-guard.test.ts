/** Rows 60 and 63 of the attack list: nothing on this computer or in its own network is reached by way of the proxy, unless the reader permits it. */
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { Agent, errors } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { resolvePermitted } from '../../client-proxy/network/connector.ts';
import { connectionReason } from '../../client-proxy/network/failures.ts';
import { parseAllowLocal } from '../../client-proxy/network/local-addresses.ts';
import { exchange } from '../../client-proxy/site/exchange.ts';
import { isAllowed, isLocalAddress } from '../../node-support/addresses.ts';
import { nameResolver } from '../../node-support/name-servers.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { startRawHost } from '../support/raw-http.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

/** A service of the reader's own, which no page has any business with. */
let service: Server;
let port: number;
let asked = 0;
const rig = forFile(startHostileReaderRig);
beforeAll(async () => {
  service = createServer((_, response) => {
    asked++;
    response.end('private');
  });
  service.on('connection', () => asked++);
  service.on('upgrade', (_, socket) => socket.destroy());
  port = await listenOnLoopback(service);
  await rig.restart({ allowLocal: [] });
});
afterAll(() => closeServer(service));
afterEach(() => {
  asked = 0;
});

/** An address as the system lists those of this computer; without its network, one of a tunnel. */
function ownAddress(cidr: string | null): NetworkInterfaceInfo {
  const [address = ''] = (cidr ?? '1.2.4.8').split('/');
  const rest = { address, netmask: '', mac: '00:00:00:00:00:00', internal: false, cidr };
  return address.includes(':') ? { ...rest, family: 'IPv6', scopeid: 0 } : { ...rest, family: 'IPv4' };
}

/**
 * A resolver that gives another address at each question: for the look-up of this program, and for the one that Node.js makes by itself for a
 * socket that is given a name only.
 */
function rebinding(addresses: readonly string[]) {
  const [lookup, promised] = [dns.lookup, dns.promises.lookup];
  let count = 0;
  const next = () => ({ address: addresses[Math.min(count++, addresses.length - 1)] ?? '', family: 4 });
  const byCallback = (_host: string, { all }: dns.LookupOptions, callback: (...found: unknown[]) => void) => {
    const found = next();
    process.nextTick(() => (all ? callback(null, [found]) : callback(null, found.address, found.family)));
  };
  const replace = (changes: object, promises: object) => {
    Object.assign(dns, changes);
    Object.assign(dns.promises, promises);
    syncBuiltinESMExports();
  };
  replace({ lookup: byCallback }, { lookup: async () => [next()] });
  return {
    resolve: async () => [next()],
    asked: () => count,
    forget: () => {
      count = 0;
    },
    restore: () => replace({ lookup }, { lookup: promised }),
  };
}

describe('attack 63: addresses that', () => {
  it.each([
    ['are of this computer', ['127.0.0.1', '127.255.255.254', '::1', '0.0.0.0', '0.1.2.3', '::']],
    ['are private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1']],
    ['are of one link', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'fec0::1']],
    ['are shared by the customers of a provider', ['100.64.0.1', '100.127.255.255']],
    ['are for many', ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1']],
    ['are for tests', ['192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    ['are for nothing', ['240.0.0.1', '192.0.0.1', '192.88.99.1', '100::1', '4000::1']],
    ['carry one of these within', ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::127.0.0.1', '2001::1']],
    ['do so in a translation', ['::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::192.168.1.1', '64:ff9b:1::1']],
    ['do so by 6to4', ['2002:7f00:1::', '2002:c0a8:0101::1']],
    ['are none', ['', 'x', '127.1', '0x7f.1', '2130706433', '017700000001', '1.2.3.4.5', '127.0.0.1 ', '010.0.0.1']],
  ])('%s', (_, addresses) => {
    for (const address of addresses) expect([address, isLocalAddress(address)]).toEqual([address, true]);
  });

  it('are of the Internet are not among them, also by way of NAT64 and 6to4', () => {
    for (const address of [
      ...['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.1', '100.63.255.255', '2606:4700::1111', '::ffff:8.8.8.8'],
      ...['64:ff9b::8.8.8.8', '2002:808:808::1'],
    ])
      expect([address, isLocalAddress(address)]).toEqual([address, false]);
  });

  it('are of this computer’s own are among them, whatever they are', () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    expect(own.length).toBeGreaterThan(0);
    for (const { address } of own) expect(isLocalAddress(address)).toBe(true);
  });

  it('are in the same network as this computer are among them, also public ones; not in networks that are no neighbourhood', () => {
    const own = { one: ['8.8.8.5/29', '2606:4700:1:2::5/64', null].map(ownAddress), two: [ownAddress('9.9.9.9/8')] };
    const outcome = (address: string) => [address, isLocalAddress(address, own)];
    for (const address of ['8.8.8.5', '8.8.8.1', '::ffff:8.8.8.6', '2606:4700:1:2::99', '9.9.9.9', '1.2.4.8'])
      expect(outcome(address)).toEqual([address, true]);
    for (const address of ['8.8.8.8', '2606:4700:1:3::5', '9.9.9.8', '1.2.4.9'])
      expect(outcome(address)).toEqual([address, false]);
  });
});

describe('attack 63: a page that points at the reader’s own services', () => {
  const spellings = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.', 'localhost', 'LOCALHOST.'],
    ...['x.localhost', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '0.0.0.0', '[::]', '[64:ff9b::7f00:1]'],
  ];

  it.each(spellings)('as %s is refused, by request, tunnel and upgrade', async (host) => {
    const got = await send(rig.proxy.port, `http://${host}:${port}/`);
    expect([got.status, refusalCode(got)]).toEqual([403, 'local-refused']);
    expect(got.text).not.toContain('private');
    const tunnel = await sendRaw(rig.proxy.port, `CONNECT ${host}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(tunnel).toMatch(/^HTTP\/1.1 403 [\s\S]*^wispr-refusal: local-refused\r$/m);
    const upgrade = `GET http://${host}:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await sendRaw(rig.proxy.port, upgrade)).toMatch(/^HTTP\/1.1 403 [\s\S]*^wispr-refusal: local-refused\r$/m);
    expect(asked).toBe(0);
  });

  it('learns from a refusal neither where a name leads nor what is there', async () => {
    const local = await send(rig.proxy.port, `http://x.localhost:${port}/`);
    expect(local.text).not.toMatch(/127\.0\.0\.1|::1/);
    await rig.restart({ allowLocal: [], connectTo: [] });
    const unknown = await send(rig.proxy.port, 'http://nobody.invalid/');
    await rig.restart({ allowLocal: [] });
    expect([refusalCode(unknown), /ENOTFOUND|getaddrinfo/.test(unknown.text)]).toEqual(['host-unreachable', false]);
  });

  it('by a name that leads there is refused after the look-up, and none but the addresses looked at are connected to', async () => {
    const rules = [parseAllowLocal('127.0.0.1')];
    const resolve = nameResolver();
    // The computer's own name leads, by /etc/hosts or the resolver, to an address of its own.
    await expect(resolvePermitted({ host: 'localhost', port: 80 }, [], resolve)).rejects.toMatchObject({
      code: 'local-refused',
    });
    expect(await resolvePermitted({ host: 'localhost', port: 80 }, rules, resolve)).toEqual([
      { address: '127.0.0.1', family: 4 },
    ]);
    expect(await resolvePermitted({ host: '8.8.8.8', port: 80 }, [], resolve)).toEqual([
      { address: '8.8.8.8', family: 4 },
    ]);
    await expect(resolvePermitted({ host: 'no-such-host.invalid', port: 80 }, rules, resolve)).rejects.toMatchObject({
      code: expect.stringMatching(/^E/),
    });
  });

  it('by a name that leads elsewhere at a second look-up (DNS rebinding) is not connected to', async () => {
    const permitted = createServer((_, response) => response.end('permitted'));
    await new Promise<void>((resolve) => permitted.listen(port, '127.0.0.2', resolve));
    const resolver = rebinding(['127.0.0.2', '127.0.0.1']);
    try {
      await rig.restart({ allowLocal: [parseAllowLocal('127.0.0.2')], connectTo: [], resolve: resolver.resolve });
      for (const path of ['/', '/again']) {
        resolver.forget();
        expect((await send(rig.proxy.port, `http://rebinding.example:${port}${path}`)).text).toBe('permitted');
        resolver.forget();
        const tunnel = `CONNECT rebinding.example:${port} HTTP/1.1\r\nHost: x\r\n\r\n`;
        const inside = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
        expect(await sendRaw(rig.proxy.port, tunnel + inside)).toMatch(/permitted$/);
        expect(resolver.asked()).toBe(1);
      }
      expect(asked).toBe(0);
    } finally {
      resolver.restore();
      await closeServer(permitted);
      await rig.restart({ allowLocal: [] });
    }
  });

  it('by way of a redirection of the port only is refused; a host that the reader names is permitted', async () => {
    for (const [rule, status] of [
      [`127.0.0.1:80::${port}`, 403],
      [`elsewhere.example:80:127.0.0.1:${port}`, 200],
    ] as const) {
      const proxy = await rig.another({ allowLocal: [], connectTo: [parseConnectTo(rule)] });
      expect((await send(proxy.port, `http://${rule.split(':')[0]}/`)).status).toBe(status);
    }
  });

  it('is told what to do', async () => {
    const { text } = await send(rig.proxy.port, `http://127.0.0.1:${port}/`);
    expect(text).toContain('--allow-local');
  });
});

it('attack 63: what a connected publisher names is held to the same: content hosts and key servers on this computer are not asked', async () => {
  const site = await startHostileReaderRig(undefined, {
    sites: ({ origin }) => [{ site: 'news.example', content: [origin], reading: 'https://read.news.example' }],
  });
  onTestFinished(() => site.close());
  await site.publisher.publish(site.host.files, '/a.html', { content: 'signed' });
  expect((await send(site.proxy.port, site.url('/a.html'))).text).toBe('signed');
  site.host.requests.length = 0;
  await site.restart({ allowLocal: [] });
  const got = await send(site.proxy.port, site.url('/a.html'));
  expect([got.status, refusalCode(got)]).toEqual([403, 'local-refused']);
  expect(site.host.requests).toEqual([]);
});

describe('attack 63: what is said of a machine that cannot be reached', () => {
  it('tells a page no addresses of the reader’s network', async () => {
    const closed = await startRawHost(() => undefined);
    await closed.close();
    const { port: own } = await rig.another({ connectTo: [parseConnectTo(`::127.0.0.1:${closed.port}`)] });
    const answer = await send(own, rig.url('/a.html'));
    expect([answer.status, refusalCode(answer)]).toEqual([502, 'content-host-unreachable']);
    const tunnel = await sendRaw(own, 'CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n');
    expect(tunnel.toLowerCase()).toContain('wispr-refusal: host-unreachable');
    for (const text of [answer.text, tunnel]) expect(text).not.toMatch(new RegExp(`ECONN|:${closed.port}\\b`));
    const agent = new Agent();
    const asking = exchange(agent, `http://localhost:${closed.port}`, '/', { maximumLength: 1 });
    await expect(asking).rejects.toMatchObject({
      code: 'key-server-unreachable',
      message: expect.not.stringMatching(/ECONN|127\.0/),
    });
    await agent.close();
  });

  it('names no address of what does not answer, nor out of what the system says that is in no list', async () => {
    const late = new errors.ConnectTimeoutError('Connect Timeout Error (attempted address: 10.1.2.3:80, timeout: 1ms)');
    expect(connectionReason(late)).not.toContain('10.1.2.3');
    const socket = connect({ host: '127.0.0.1', port: 9, localAddress: '192.0.2.1' }); // documentation address: no machine has it
    const [error] = await once(socket, 'error').catch((error: unknown) => [error]);
    expect(error).toMatchObject({ code: 'EADDRNOTAVAIL', message: expect.stringContaining('192.0.2.1') });
    const several = new AggregateError([new Error('another'), error]);
    for (const one of [error, several]) expect(connectionReason(one)).not.toMatch(/192\.0|EADDR/);
  });
});

describe('attack 60: a tunnel', () => {
  it('to port 25 of anybody is refused', async () => {
    const got = await sendRaw(rig.proxy.port, 'CONNECT mail.example:25 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(got).toMatch(/^HTTP\/1.1 403 [\s\S]*^wispr-refusal: port-refused\r$/m);
  });

  it('to the proxy itself is refused, also where this computer is permitted', async () => {
    for (const [allowLocal, refused] of [
      [[], /^HTTP\/1.1 403 [\s\S]*^wispr-refusal: local-refused\r$/m],
      [rig.storage.allowLocal, /^HTTP\/1.1 508 [\s\S]*^wispr-refusal: loop\r$/m],
    ] as const) {
      const { port: own } = await rig.another({ allowLocal });
      for (const host of ['127.0.0.1', 'localhost'])
        expect(await sendRaw(own, `CONNECT ${host}:${own} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(refused);
      const beside = await sendRaw(own, `CONNECT 127.9.9.9:${own} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(beside).toMatch(
        /^HTTP\/1.1 (?:403|502|508) [\s\S]*^wispr-refusal: (?:local-refused|loop|host-unreachable)\r$/m,
      );
    }
  });

  it('to a connected site passes, but for its port 80, and is counted', async () => {
    const connectTo = [`news.example:443:127.0.0.1:${port}`, `:80:127.0.0.1:${rig.host.port}`].map(parseConnectTo);
    await rig.restart({ allowLocal: rig.storage.allowLocal, connectTo });
    const got = await sendRaw(
      rig.proxy.port,
      'CONNECT news.example:443 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(got).toMatch(
      /^HTTP\/1.1 200 Connection established\r\nVia: 1.1 wispr\r\n\r\nHTTP\/1.1 200 OK[\s\S]*private$/,
    );
    const counted = ['news.example', 'elsewhere.example'].map((host) => rig.proxy.tunnels.of(host)?.count);
    expect(counted).toEqual([1, undefined]);
    const past = await sendRaw(rig.proxy.port, 'CONNECT news.example:80 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(past).toMatch(/^wispr-refusal: port-refused\r$/m);
    await rig.restart({ allowLocal: [] });
  });
});

describe('--allow-local', () => {
  it.each([
    ['127.0.0.1', 'x.example:80', '127.0.0.1', true],
    ['127.0.0.1:8080', 'x.example:8080', '127.0.0.1', true],
    ['127.0.0.1:8080', 'x.example:80', '127.0.0.1', false],
    ['127.0.0.1', 'x.example:80', '::ffff:127.0.0.1', true],
    ['192.168.0.0/16', 'x.example:80', '192.168.7.7', true],
    ['192.168.0.0/16:80', 'x.example:80', '192.169.7.7', false],
    ['[::1]:80', 'x.example:80', '::1', true],
    ['[fd00::/8]', 'x.example:80', 'fd12::1', true],
    ['[fd00::/8]', 'x.example:80', '127.0.0.1', false],
    ['printer.lan', 'PRINTER.lan:631', '192.168.1.9', true],
    ['printer.lan:631', 'printer.lan:80', '192.168.1.9', false],
    ['printer.lan', 'x.printer.lan:80', '192.168.1.9', false],
  ])('%s for %s at %s: %s', (rule, asked_, address, expected) => {
    const cut = asked_.lastIndexOf(':');
    const endpoint = { host: asked_.slice(0, cut), port: Number(asked_.slice(cut + 1)) };
    expect(isAllowed([parseAllowLocal(rule)], endpoint, address)).toBe(expected);
  });

  it.each([
    ...['', 'http://x', 'x:0', 'x:99999', 'x:y', '127.1', '127.0.0.1/33', '127.0.0.1/', '::1', '[printer.lan]', 'a b'],
    ...['*', 'x/8', '[::1]/8'],
  ])('%j is refused', (rule) => {
    expect(() => parseAllowLocal(rule)).toThrow(expect.objectContaining({ code: 'argument-invalid' }));
  });
});
