/** Bytes on the link for one connection each, over the real relays: TLS 1.2 plain and substituted, TLS 1.3 full and resumed. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, createServer, type SecureVersion, type Server } from 'node:tls';
import { brotliCompressSync } from 'node:zlib';
import { startFar, startNear } from '../link/index.ts';
import { type Chain, type KeyKind, makeChain } from '../tests/support/certificates.ts';
import { type Counted, type Counter, startCounter } from '../tests/support/link-counter.ts';

const NAME = 'localhost';

/** Each with the bytes of the relays themselves: about 20 for each connection. */
export interface Handshakes {
  /** TLS 1.2, by a client that has no other; a name that was not visited before: everything crosses. */
  readonly first: Counted;
  /** TLS 1.2, every later visit. */
  readonly substituted: Counted;
  readonly tls13: Counted;
  readonly tls13Resumed: Counted;
  /** TLS 1.3 with certificates compressed by Brotli (RFC 8879): computed, because neither Node.js nor Debian's OpenSSL has it. */
  readonly tls13Compressed: Counted;
}

/** @param kind - of the keys of a chain of two certificates */
export async function measureHandshakes(kind: KeyKind): Promise<Handshakes> {
  const folder = mkdtempSync(join(tmpdir(), 'wispr-bench-link-'));
  try {
    const chain = await makeChain(folder, 'server', kind, [`DNS:${NAME}`]);
    await using rig = await startRig(folder);
    return await measure(chain, rig);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Rig extends AsyncDisposable {
  readonly counter: Counter;
  /** A connection by way of the relays to `port`. @returns bytes, and the session that the server gave */
  readonly visit: (port: number, options: ConnectionOptions) => Promise<{ crossed: Counted; session?: Buffer }>;
  /** Where the near relay's connections lead. */
  readonly lead: (port: number) => Promise<void>;
}

async function startRig(folder: string): Promise<Rig> {
  await using stack = new AsyncDisposableStack();
  const listen = '127.0.0.1:0';
  const far = await startFar({ listen, allowLocal: [NAME], store: join(folder, 'far.db') });
  stack.defer(() => far.close());
  const counter = await startCounter(far.port);
  stack.defer(() => counter.close());
  let near: { readonly port: number; close(): Promise<void> } | undefined;
  stack.defer(async () => near?.close());
  const lead = async (port: number) => {
    await near?.close();
    near = await startNear({
      listen,
      far: `127.0.0.1:${counter.port}`,
      to: `${NAME}:${port}`,
      store: join(folder, 'near.db'),
    });
  };
  const visit = async (port: number, options: ConnectionOptions) => {
    counter.take();
    const session = await connectOnce({ ...options, port: near?.port ?? port });
    return { crossed: counter.take(), ...(session && { session }) };
  };
  const ending = stack.move();
  return { counter, visit, lead, [Symbol.asyncDispose]: () => ending.disposeAsync() };
}

async function measure(chain: Chain, { visit, lead }: Rig): Promise<Handshakes> {
  const on = async <Result>(version: SecureVersion, work: (port: number) => Promise<Result>): Promise<Result> => {
    const server = await startServer(chain, version);
    const { port } = server.address() as AddressInfo;
    try {
      await lead(port);
      return await work(port);
    } finally {
      server.close();
    }
  };
  const options = { servername: NAME, ca: chain.root };
  const [first, substituted] = await on('TLSv1.2', async (port) => [
    (await visit(port, { ...options, maxVersion: 'TLSv1.2' })).crossed,
    (await visit(port, { ...options, maxVersion: 'TLSv1.2' })).crossed,
  ]);
  const [tls13, tls13Resumed] = await on('TLSv1.3', async (port) => {
    const { crossed, session } = await visit(port, options);
    return [crossed, (await visit(port, { ...options, ...(session && { session }) })).crossed];
  });
  if (!first || !substituted || !tls13 || !tls13Resumed) throw new Error('no figures');
  const tls13Compressed = { up: tls13.up, down: tls13.down - savedByBrotli(chain) };
  return { first, substituted, tls13, tls13Resumed, tls13Compressed };
}

function savedByBrotli({ cert }: Chain): number {
  const pieces = cert.match(/(?<=CERTIFICATE-----\n)[^-]+/g) ?? [];
  const whole = Buffer.concat(pieces.map((base64) => Buffer.from(base64, 'base64')));
  return whole.length - brotliCompressSync(whole).length;
}

async function startServer({ key, cert }: Chain, version: SecureVersion): Promise<Server> {
  const server = createServer({ key, cert, minVersion: version, maxVersion: version }, (socket) => {
    socket.on('error', () => socket.destroy()).on('data', () => socket.end('.'));
  });
  await once(server.listen(0), 'listening');
  return server;
}

/** A handshake, one byte each way, and the end. @returns the session that the server gave */
function connectOnce(options: ConnectionOptions): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    let session: Buffer | undefined;
    const socket = connect({ host: '127.0.0.1', ...options }, () => socket.write('.'));
    socket.on('session', (given) => {
      session = given;
    });
    socket.on('data', () => undefined).on('error', reject);
    socket.once('close', () => resolve(session));
  });
}
