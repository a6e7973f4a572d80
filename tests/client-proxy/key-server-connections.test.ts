/** Connections to key servers: TLS sessions that are resumed, and how long a Reader waits on a narrow link. */
import { createServer as createHttps } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS, LIMITS, type Limits } from '../../client-proxy/limits.ts';
import { Upstream } from '../../client-proxy/network/upstream.ts';
import { exchange } from '../../client-proxy/site/exchange.ts';
import { fetchBody } from '../../client-proxy/site/fetch-body.ts';
import { readClientHello } from '../../link/tls/client-hello.ts';
import { RecordReader } from '../../link/tls/records.ts';
import { makeCertificate, type TestCertificate } from '../support/certificates.ts';
import { listenOnLoopback } from '../support/content-host.ts';
import { CleanUp, temporaryFolder } from '../support/reader-rig.ts';

const KEYS = 'https://keys.example';
const PRE_SHARED_KEY = 41;
/** A key request for one key, and its answer, are so long. */
const [REQUEST, ANSWER] = [250, 400];
const end = new CleanUp();
const endOfTest = new CleanUp();
let certificate: TestCertificate;
/** Tells of each connection that came to the key server whether it resumed a session. */
let resumed: boolean[] = [];
/** Session that each ClientHello on the way to it showed, if any. */
let shown: (string | undefined)[] = [];
let road: (from: Readable, to: Socket) => unknown = (from, to) => from.pipe(to);
let port: number;

beforeAll(async () => {
  certificate = await makeCertificate(await temporaryFolder(end), ['DNS:keys.example', 'DNS:other.example']);
  const { key, cert } = certificate;
  const server = createHttps({ key, cert }, (request, response) => {
    resumed.push((request.socket as TLSSocket).isSessionReused());
    request.resume().on('end', () => {
      response.writeHead(200, { connection: 'close', 'content-length': ANSWER });
      if (request.url === '/silent') return;
      if (request.url !== '/dripping') return void response.end(Buffer.alloc(ANSWER));
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
  });
  const target = await listenOnLoopback(server);
  const front = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    client.on('error', () => undefined).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    const fromClient = new PassThrough();
    client.pipe(fromClient);
    client.on('data', noteSession());
    void road(fromClient, upstream);
    void road(upstream, client);
  });
  port = await listenOnLoopback(front);
  end.add(async () => [server, front].map((each) => each.close()));
});
afterAll(() => end.run());

beforeEach(() => {
  [resumed, shown] = [[], []];
  road = (from, to) => from.pipe(to);
});
afterEach(() => endOfTest.run());

/** Takes what a client says. */
function noteSession(): (chunk: Buffer) => void {
  const records = new RecordReader();
  return (chunk) => {
    records.push(chunk);
    for (let record = records.next(); typeof record !== 'string'; record = records.next()) {
      const hello = readClientHello(record);
      const offered = hello?.extensions.find(({ type }) => type === PRE_SHARED_KEY);
      if (hello) shown.push(offered && identityIn(offered.data));
    }
  };
}

/** The first session of those that are offered, without its age, which changes: RFC 8446, section 4.2.11. */
function identityIn(offered: Buffer): string {
  return offered.subarray(4, 4 + offered.readUInt16BE(2)).toString('hex');
}

function reader(changes: Partial<Limits> = {}): Upstream {
  const limits = { ...DEFAULT_LIMITS, ...changes };
  const connectTo = [parseConnectTo(`:443:127.0.0.1:${port}`)];
  const upstream = new Upstream({ ca: certificate.ca, connectTo, limits });
  endOfTest.add(() => upstream.close());
  return upstream;
}

const ask = async ({ keyServers }: Upstream, origin = KEYS, path = '/', timeout: number = LIMITS.exchangeTimeout) => {
  const asked = { body: Buffer.alloc(REQUEST), maximumLength: ANSWER, timeout };
  const { status } = await exchange(keyServers, origin, path, asked);
  return status;
};

describe('TLS sessions', () => {
  it('are resumed with the same key server, and none is shown twice', async () => {
    const one = reader();
    for (let round = 0; round < 4; round++) expect(await ask(one)).toBe(200);
    expect(resumed).toEqual([false, true, true, false]); // Node.js gives two sessions at a full handshake, and none later
    expect(shown[0]).toBeUndefined();
    expect(new Set(shown).size).toBe(3);
  });

  it('of one key server are not shown to another, though it is the same machine with the same certificate', async () => {
    const one = reader();
    for (const origin of [KEYS, 'https://other.example', KEYS]) expect(await ask(one, origin)).toBe(200);
    expect(resumed).toEqual([false, false, true]);
    expect(shown[1]).toBeUndefined();
  });

  it('of one Reader are not shown by another', async () => {
    for (const each of [reader(), reader()]) expect(await ask(each)).toBe(200);
    expect(shown).toEqual([undefined, undefined]);
  });

  it('are not kept of who has shown no good certificate', async () => {
    const one = reader();
    for (let round = 0; round < 2; round++)
      await expect(ask(one, 'https://strange.example')).rejects.toMatchObject({ code: 'key-server-certificate' });
    expect(shown).toEqual([undefined, undefined]);
  });

  it('are not resumed with content hosts, which would know a reader by them', async () => {
    const one = reader();
    await ask(one);
    for (let round = 0; round < 2; round++) {
      const { body } = await fetchBody(one, KEYS, { path: '/' }, new AbortController().signal);
      for await (const _ of body);
    }
    expect(resumed).toEqual([false, false, false]);
    expect(shown).toEqual([undefined, undefined, undefined]);
  });
});

describe('a narrow link', () => {
  /** Factor by which the link is faster than 2,400 bit/s, and limits are shorter. */
  const FASTER = 5;
  const PIECES_A_SECOND = 20;

  it('of 2,400 bit/s lets a key request through', { timeout: 60_000 }, async () => {
    const { connectTimeout, handshakeTimeout, headersTimeout, bodyTimeout } = DEFAULT_LIMITS;
    const limits = { connectTimeout, handshakeTimeout, headersTimeout, bodyTimeout };
    const shorter = Object.entries(limits).map(([name, milliseconds]) => [name, milliseconds / FASTER]);
    const piece = (300 * FASTER) / PIECES_A_SECOND;
    road = async (from, to) => {
      for await (const chunk of from)
        for (let at = 0; at < chunk.length; at += piece) {
          await pause(1000 / PIECES_A_SECOND);
          to.write(chunk.subarray(at, at + piece));
        }
      to.end();
    };
    const patient = LIMITS.exchangeTimeout / FASTER;
    expect(await ask(reader(Object.fromEntries(shorter)), KEYS, '/', patient)).toBe(200);
  });

  it('does not end a handshake that takes longer than a connection may', async () => {
    road = async (from, to) => {
      await pause(300);
      from.pipe(to);
    };
    expect(await ask(reader({ connectTimeout: 200 }))).toBe(200);
  });
});

describe('a key server that keeps a Reader waiting', () => {
  it('in the handshake, is given up', async () => {
    road = () => undefined;
    await expect(ask(reader({ handshakeTimeout: 100 }))).rejects.toMatchObject({ code: 'key-server-unreachable' });
    expect(resumed).toEqual([]);
  });

  it('with nothing, is given up', async () => {
    await expect(ask(reader({ headersTimeout: 100 }), KEYS, '/silent')).rejects.toMatchObject({
      code: 'key-server-unreachable',
    });
  });

  it('with a byte now and then, is given up in the end', async () => {
    await expect(ask(reader(), KEYS, '/dripping', 500)).rejects.toMatchObject({ code: 'key-server-unreachable' });
    expect(resumed).toEqual([false]);
  });
});
