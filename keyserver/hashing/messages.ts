/**
 * Messages of the key servers of a cluster and their dispatcher: HTTP/2 with JSON, over TLS with a key that both know. A key server posts
 *
 *   /join  { slots }         first, once: how many works it does at a time     204
 *   /hash  { address, work }  asks for a hash                                   200 { hash }, 503 busy, 502 not done
 *   /work  { slot, hash? }   says what came of the work of a slot, and waits  200 { work }
 *
 * Another status, or a message that does not fit its schema, ends the connection.
 */
import type { ClientHttp2Session, Http2Session, Http2Stream, IncomingHttpHeaders } from 'node:http2';
import type { ConnectionOptions, TLSSocket, TlsOptions } from 'node:tls';
import { z } from 'zod';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { ARGON2ID_LENGTH, ARGON2ID_SALT_LENGTH } from '../../node-support/argon2id.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { isAllowedCost } from './hashing.ts';

/** Times in milliseconds. */
export interface Timing {
  /** Time between two pings. */
  readonly alive: number;
  /** Time without an answer to any ping until the connection is given up. */
  readonly silence: number;
  /** Time until a work that the dispatcher was asked for is done here. */
  readonly answer: number;
  /** Time before the first new attempt to connect; each further one waits twice as long, up to `slowest`. */
  readonly again: number;
  readonly slowest: number;
}

export const TIMING: Timing = { alive: 2000, silence: 10_000, answer: 30_000, again: 1000, slowest: 30_000 };

/** Bytes of the longest message. Passwords have 1,024 bytes at most: `MAXIMUM_PASSWORD_BYTES`. */
export const LONGEST_MESSAGE = 16_384;
const MOST_SLOTS = 1024;
const IDENTITY = 'wispr';

/**
 * Settings of both sides, which know one secret, and prove it before either reads a byte: TLS 1.3 with an external pre-shared key and a key agreement
 * (`psk_dhe_ke`), so that a secret that is stolen later opens no recording. Node.js ties such keys to SHA-256. There are no certificates.
 */
const COMMON = {
  minVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256',
  ecdhCurve: 'X25519MLKEM768:X25519',
  ALPNProtocols: ['h2'],
} as const satisfies TlsOptions & ConnectionOptions;

/** @param secret - 32 bytes */
export function serverTls(secret: Uint8Array): TlsOptions {
  return { ...COMMON, handshakeTimeout: 10_000, pskCallback: (_, identity) => (identity === IDENTITY ? secret : null) };
}

/** @param secret - 32 bytes */
export function clientTls(secret: Uint8Array): ConnectionOptions {
  return {
    ...COMMON,
    rejectUnauthorized: true,
    pskCallback: () => ({ psk: secret, identity: IDENTITY }),
    // Called only where the other side shows a certificate instead: it does not know the secret.
    checkServerIdentity: () => new Error('it does not know the secret of this cluster'),
  };
}

/** Tells whether a handshake has proved the secret, and HTTP/2 follows. */
export function isAuthenticated(socket: TLSSocket): boolean {
  return socket.isSessionReused() && socket.alpnProtocol === 'h2';
}

/** Bytes as JSON has them. */
const bytes = (length: number) =>
  z.codec(z.string(), z.custom<Uint8Array>(), {
    decode: (text, { issues }) => {
      const decoded = fromBase64url(text, length);
      if (decoded === undefined) issues.push({ code: 'custom', input: text, message: 'no bytes of this length' });
      return decoded ?? z.NEVER;
    },
    encode: toBase64url,
  });
const whole = z.int().nonnegative();
const WORK = z.strictObject({
  typed: z.string(),
  cost: z.strictObject({ memory: whole, passes: whole, parallelism: whole }).refine(isAllowedCost),
  salt: bytes(ARGON2ID_SALT_LENGTH),
});
const HASH = bytes(ARGON2ID_LENGTH);

export const MESSAGES = {
  join: z.strictObject({ slots: whole.max(MOST_SLOTS) }),
  ask: z.strictObject({ address: z.string().max(64), work: WORK }),
  answer: z.strictObject({ hash: HASH }),
  poll: z.strictObject({ slot: whole, hash: HASH.optional() }),
  task: z.strictObject({ work: WORK }),
};

/** A message as it is sent; `undefined` where it would be too long. */
export function encodeMessage<Schema extends z.ZodType>(schema: Schema, message: z.output<Schema>): string | undefined {
  const text = JSON.stringify(z.encode(schema, message));
  return Buffer.byteLength(text) > LONGEST_MESSAGE ? undefined : text;
}

/** The message of a stream. @throws Error where it is none of the schema, or too long */
export async function readMessage<Schema extends z.ZodType>(
  schema: Schema,
  stream: Http2Stream,
): Promise<z.output<Schema>> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > LONGEST_MESSAGE) throw new Error('a message is too long');
    parts.push(part);
  }
  return schema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))));
}

/** Posts a message. @returns the status, and the stream of the answer @throws what breaks it off */
export async function post(
  session: ClientHttp2Session,
  path: string,
  text: string,
  signal?: AbortSignal,
): Promise<{ readonly status: number; readonly stream: Http2Stream }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingHttpHeaders & { ':status'?: number }>();
  const headers = { ':method': 'POST', ':path': path };
  const stream = session.request(headers, signal && { signal });
  stream.once('response', resolve).once('error', reject);
  stream.once('close', () => reject(new Error('it gave no answer')));
  stream.end(text);
  const { ':status': status = 0 } = await promise;
  return { status, stream };
}

/** Watches over a session: one whose other side answers no ping for too long is ended. @param ended - told why, once @returns ends it */
export function watch(
  session: Http2Session,
  { alive, silence }: Timing,
  ended: (reason: string) => void,
): (reason: string) => void {
  let [reason, heard] = ['it closed the connection', performance.now()];
  const end = (why: string) => {
    reason = why;
    session.destroy();
  };
  const timer = setInterval(() => {
    if (performance.now() - heard > silence) end('it has gone silent');
    else if (!session.destroyed)
      session.ping((error) => {
        if (!error) heard = performance.now();
      });
  }, alive).unref();
  session.on('error', (error) => {
    reason = systemCode(error) ?? error.message;
  });
  session.once('close', () => {
    clearInterval(timer);
    ended(reason);
  });
  return end;
}

/** A work was asked for, and not done. It may be asked of another. */
export class NotDone extends Error {}
