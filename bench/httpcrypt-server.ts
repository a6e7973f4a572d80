/**
 * What is measured in the rows httpcrypt-…, in a process of its own: answers of a given length over plain HTTP, over HTTPS, or by the HTTPCrypt endpoint of
 * the key server. Started by `fork`: says where it listens, and writes requests with fresh tickets when it is asked to.
 */
import { constants } from 'node:crypto';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { parseArgs } from 'node:util';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { toBase64url } from '../core/encoding/base64url.ts';
import { concat } from '../core/encoding/bytes.ts';
import { beginExchange, type ChannelKeys, sealRequest } from '../core/httpcrypt/message.ts';
import { verifyRecord } from '../core/httpcrypt/record.ts';
import { KEY_REQUEST_PATH } from '../core/keys/key-request.ts';
import { createHttpcryptApp } from '../keyserver/httpcrypt/app.ts';
import { ServerKeys } from '../keyserver/httpcrypt/server-keys.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { createServer } from '../node-support/http.ts';

/** What a key request is about as long as. */
const REQUEST_LENGTH = 400;
const PREFIX = '/a/';

const string = { type: 'string' } as const;
const { values } = parseArgs({ options: { kind: string, length: string, folder: string } });
const { kind = '', length = '', folder = '' } = values;
const content = new Uint8Array(Number(length)).fill(65);
const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': content.length };
const seen = { requests: 0, failed: 0, resumed: 0 };

const server = await start();
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());

async function start() {
  const answer: RequestListener = (_request, response) => {
    seen.requests++;
    response.writeHead(200, headers).end(content);
  };
  if (kind === 'plain') return listening(createServer(answer));
  if (kind !== 'httpcrypt') {
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(folder, name)));
    // Without tickets every connection has a whole handshake, as in the paper.
    const secureOptions = kind === 'https' ? constants.SSL_OP_NO_TICKET : 0;
    const https = createHttpsServer({ cert, key, minVersion: 'TLSv1.3', secureOptions }, answer);
    https.on('secureConnection', (socket: TLSSocket) => socket.isSessionReused() && seen.resumed++);
    return listening(https);
  }
  return listening(createServer(await httpcrypt()));
}

function listening<Server>(started: Server): Server {
  process.on('message', (message) => {
    if (message !== 'seen') return;
    process.send?.({ ...seen });
    Object.assign(seen, { requests: 0, failed: 0, resumed: 0 });
  });
  return started;
}

async function httpcrypt() {
  const url = `http://127.0.0.1${PREFIX}`;
  const signer = ed25519KeyPair(randomBytes(32));
  const options = {
    url,
    signer,
    timeToLive: 86_400,
    now: nowInSeconds,
    announce: async () => {},
    maximumTickets: 100_000,
  };
  const keys = await ServerKeys.start(options);
  const { publicKey, id } = await verifyRecord(await keys.record(), { url, key: signer.publicKey }, nowInSeconds());
  const write = (exchange: ChannelKeys, keepAlive: boolean) => {
    const message = { target: `POST ${KEY_REQUEST_PATH}`, content: new Uint8Array(REQUEST_LENGTH) };
    const body = sealRequest(publicKey, exchange, message);
    const cookie = toBase64url(concat(id, exchange.shown, new Uint8Array(15))); // all of one length
    const head = [
      `POST ${PREFIX}${toBase64url(randomBytes(12))} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/octet-stream',
      `Content-Length: ${body.length}`,
      `Cookie: session=${cookie}`,
      ...(keepAlive ? [] : ['Connection: close']),
    ];
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
  };
  process.on(
    'message',
    async (message: { first?: string; tickets?: string; count: number; keepAlive: boolean } | 'seen') => {
      if (message === 'seen') return;
      const { first, tickets, count, keepAlive } = message;
      if (first) {
        const request = write(beginExchange(publicKey), keepAlive);
        writeFileSync(first, request);
        return void process.send?.({ length: request.length });
      }
      if (!tickets) return;
      const file = createWriteStream(tickets);
      let size = 0;
      const opening = await keys.open(id, beginExchange(publicKey).shown);
      if (!opening) throw new Error('the server key is not known');
      for (let number = 0; number < count; number++) {
        const request = write(opening.issue(), keepAlive);
        size = request.length;
        if (!file.write(request)) await new Promise((resolve) => file.once('drain', resolve));
      }
      file.end(() => process.send?.({ length: size }));
    },
  );
  return createHttpcryptApp({
    url,
    keys,
    requestsPerAddress: Number.POSITIVE_INFINITY,
    isTrustedProxy: () => false,
    isShared: () => false,
    answer: async () => ({ status: 200, content, route: KEY_REQUEST_PATH }),
    note: (_method, _route, status) => {
      seen.requests++;
      if (status !== 200) seen.failed++;
    },
  });
}
