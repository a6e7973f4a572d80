/** Costs of single operations, to see whether it pays to have them done elsewhere. Processor time, because other programs may run. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { randomBytes, xwingDecapsulate, xwingEncapsulate, xwingKeyPair } from '#primitives';
import { median } from '../../bench/measure.ts';
import { clientTls, encodeMessage, MESSAGES, post, readMessage, serverTls } from '../../keyserver/hashing/messages.ts';
import { argon2id } from '../../node-support/argon2id.ts';
import { type KeyKind, makeChain } from '../../tests/support/certificates.ts';
import type { Listening } from './tls-server.ts';

/** Milliseconds of processor time. */
export interface Costs {
  readonly argon2id: number;
  readonly encapsulation: number;
  readonly decapsulation: number;
  /** A message of the length of an X-Wing public key there, and an answer, both ends together. */
  readonly exchange: number;
  readonly tls: Readonly<Record<KeyKind, { readonly handshake: number; readonly signature: number }>>;
}

const TLS_SERVER = fileURLToPath(new URL('tls-server.ts', import.meta.url));
const FULL_COST = { memory: 65_536, passes: 3, parallelism: 1 };
const BATCHES = 5;

export async function measureCosts(folder: string): Promise<Costs> {
  const pair = xwingKeyPair(randomBytes(32));
  const { ciphertext } = xwingEncapsulate(pair.publicKey);
  return {
    argon2id: await costOf(2, () => argon2id('a password', FULL_COST, randomBytes(16))),
    encapsulation: await costOf(500, () => xwingEncapsulate(pair.publicKey)),
    decapsulation: await costOf(500, () => xwingDecapsulate(ciphertext, pair.secretKey)),
    exchange: await exchangeCost(pair.publicKey.length),
    tls: { ecdsa: await handshakeCost(folder, 'ecdsa'), rsa: await handshakeCost(folder, 'rsa') },
  };
}

/** The median of several times so many, after so many that do not count. */
async function costOf(times: number, work: () => unknown): Promise<number> {
  const batch = async () => {
    const before = process.cpuUsage();
    for (let index = 0; index < times; index++) await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / times;
  };
  await batch();
  const found: number[] = [];
  for (let index = 0; index < BATCHES; index++) found.push(await batch());
  return median(found);
}

/** Measures over the connection that a key server has with its dispatcher. */
async function exchangeCost(length: number): Promise<number> {
  const secret = randomBytes(32);
  const answer = encodeMessage(MESSAGES.answer, { hash: randomBytes(32) });
  const server = createSecureServer(serverTls(secret), async (request, response) => {
    await readMessage(MESSAGES.ask, request.stream);
    response.end(answer ?? '');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const session = connectHttp2(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, clientTls(secret));
  const work = { typed: 'x'.repeat(length), cost: FULL_COST, salt: randomBytes(16) };
  const text = encodeMessage(MESSAGES.ask, { address: '192.0.2.1', work }) ?? '';
  const cost = await costOf(1000, async () =>
    readMessage(MESSAGES.answer, (await post(session, '/hash', text)).stream),
  );
  session.close();
  server.close();
  return cost;
}

/** A full TLS 1.3 handshake at the server, and the signature in it. */
async function handshakeCost(folder: string, kind: KeyKind) {
  const chain = await makeChain(folder, `server-${kind}`, kind, ['DNS:server.example']);
  const server = fork(TLS_SERVER, [chain.keyFile, chain.certFile]);
  const [{ port, signature }] = (await once(server, 'message')) as [Listening];
  const spent = async (): Promise<number> => {
    server.send('spent');
    const [milliseconds] = await once(server, 'message');
    return milliseconds;
  };
  const handshakes = async (count: number) => {
    const before = await spent();
    for (let index = 0; index < count; index++) {
      const socket = connect({ host: '127.0.0.1', port, minVersion: 'TLSv1.3', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      await once(socket.destroy(), 'close');
    }
    return ((await spent()) - before) / count;
  };
  await handshakes(200);
  const found: number[] = [];
  for (let index = 0; index < BATCHES; index++) found.push(await handshakes(100));
  server.disconnect();
  return { handshake: median(found), signature };
}
