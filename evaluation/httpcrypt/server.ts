/**
 * Server of the figure, in a process of its own: answers of a given length over plain HTTP, over HTTPS, or by the HTTPCrypt endpoint of
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
import { toBase64url } from '../../core/encoding/base64url.ts';
import { concat } from '../../core/encoding/bytes.ts';
import { beginExchange, type Exchange, sealRequest, TICKET_LENGTH } from '../../core/httpcrypt/exchange.ts';
import { verifyRecord } from '../../core/httpcrypt/record.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { createListener } from '../../httpcrypt/listener.ts';
import { ServerKeys } from '../../httpcrypt/server-keys.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { createServer } from '../../node-support/http.ts';

/** Bytes, about as many as a key request has. */
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
    // Connections without tickets have a whole handshake each, as in the paper.
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
    announce: () => {},
    maximumTickets: 100_000,
  };
  const keys = await ServerKeys.start(options);
  const { publicKey, id } = await verifyRecord(await keys.record(), { url, key: signer.publicKey }, nowInSeconds());
  const head = {
    ...{ method: 'POST', scheme: 'http', authority: '127.0.0.1', path: KEY_REQUEST_PATH },
    fields: ['content-type', 'application/json'],
  };
  const write = (exchange: Exchange, keepAlive: boolean) => {
    const random = concat(randomBytes(16), new Uint8Array(1)); // keeps all of one length
    const { body } = sealRequest(exchange, head, new Uint8Array(REQUEST_LENGTH), random);
    const cookie = toBase64url(concat(id, exchange.shown, new Uint8Array(15))); // keeps all of one length
    const lines = [
      `POST ${PREFIX}${toBase64url(randomBytes(12))} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/octet-stream',
      `Content-Length: ${body.length}`,
      `Cookie: session=${cookie}`,
      ...(keepAlive ? [] : ['Connection: close']),
    ];
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]);
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
      const opening = keys.open(id, beginExchange(publicKey).shown);
      if (!opening) throw new Error('the server key is not known');
      for (let number = 0; number < count; number++) {
        const request = write({ ...opening.issue(randomBytes(TICKET_LENGTH)), publicKey }, keepAlive);
        size = request.length;
        if (!file.write(request)) await new Promise((resolve) => file.once('drain', resolve));
      }
      file.end(() => process.send?.({ length: size }));
    },
  );
  return createListener({
    url,
    keys,
    admit: () => ({ address: '127.0.0.1', clients: 1 }),
    mayRepeat: () => true,
    answer: async () => ({ status: 200, fields: [], body: content }),
    note: (_method, _route, status) => {
      seen.requests++;
      if (status !== 200) seen.failed++;
    },
  });
}
