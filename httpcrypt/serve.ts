/** A program that stands before any HTTP server and takes HTTPCrypt for it. */
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { ed25519KeyPair, type KeyPair, randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../core/encoding/base64url.ts';
import { isLoopback } from '../core/site/site.ts';
import { networkOf, plainAddress } from '../node-support/addresses.ts';
import { ClientConnections, serverOptions } from '../node-support/client-connections.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { createFile } from '../node-support/files/write-file.ts';
import { createServer } from '../node-support/http.ts';
import { readAbsoluteForm, refuseFault } from '../node-support/http-requests.ts';
import { MinuteCounts } from '../node-support/minute-counts.ts';
import { describeUnreadable, systemReason } from '../node-support/system-error.ts';
import { writeZone } from './announcement.ts';
import { HttpcryptError } from './errors.ts';
import { forwardTo } from './forward.ts';
import { type Client, createListener } from './listener.ts';
import { ServerKeys } from './server-keys.ts';

/** Bounds of the listener: milliseconds, but for counts. */
const LIMITS = { clientConnections: 2048, pipelined: 64, fields: 100, requestHead: 60_000, clientIdle: 65_000 };
/** Bytes of a head, in which nothing long stands. */
const LONGEST_HEAD = 12 * 1024;
/** Milliseconds without a byte in either direction, after which a connection is closed. */
const SILENCE = 120_000;
const REQUESTS_PER_ADDRESS = 1200;
const SEED_LENGTH = 32;

export interface ServeOptions {
  /** Origin of the server behind. */
  readonly to: string;
  /** Of the endpoint: an {@link isHttpcryptUrl}. */
  readonly url: string;
  /** At all addresses, where `host` is left out. */
  readonly listen: { readonly host?: string; readonly port: number };
  /** File of the channel key, which is made where there is none. */
  readonly key: string;
  /** File of DNS records. */
  readonly zone?: string | undefined;
  readonly rotateMinutes: number;
  /** Hears what went wrong later: a sentence without a full stop. */
  readonly report: (what: string) => void;
}

export interface RunningEndpoint {
  /** `url#key`. */
  readonly endpoint: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Listens until it is closed. @throws HttpcryptError */
export async function serveHttpcrypt({
  to,
  url,
  listen,
  key,
  zone,
  ...options
}: ServeOptions): Promise<RunningEndpoint> {
  const signer = channelKey(key);
  const timeToLive = options.rotateMinutes * 60;
  let report = (what: string): void => {
    throw new HttpcryptError('httpcrypt-key', what, { fields: { file: zone ?? '' } });
  };
  const announce = (record: Uint8Array) => {
    try {
      if (zone) writeZone(zone, url, record, timeToLive);
    } catch (error) {
      report(`${zone} cannot be written: ${systemReason(error)}`);
    }
  };
  const keys = await ServerKeys.start({ url, signer, timeToLive, now: nowInSeconds, announce });
  ({ report } = options);
  const dispatcher = new Agent(); // no more connections than clients have
  const server = createServer(serverOptions(LIMITS, { maxHeaderSize: LONGEST_HEAD, requestTimeout: 0 }));
  server.timeout = SILENCE;
  const app = createListener({ url, keys, admit: admitting(), answer: forwardTo(to, dispatcher) });
  new ClientConnections(LIMITS).serve(server, (request, response) => {
    if (refuseFault(request, response)) return;
    readAbsoluteForm(request);
    app(request, response);
  });
  const close = async () => {
    keys.stop();
    const closed = server.listening && once(server, 'close');
    server.close().closeAllConnections();
    await Promise.all([closed, dispatcher.destroy()]);
  };
  try {
    await once(server.listen(listen), 'listening');
  } catch (cause) {
    await close();
    throw new HttpcryptError('httpcrypt-listen', `port ${listen.port} cannot be listened on: ${systemReason(cause)}`, {
      cause,
    });
  }
  return { endpoint: `${url}#${toBase64url(signer.publicKey)}`, port: (server.address() as AddressInfo).port, close };
}

/** Reads the seed of the channel key, or makes one. */
function channelKey(file: string): KeyPair {
  try {
    createFile(file, `${toBase64url(randomBytes(SEED_LENGTH))}\n`, 0o600);
    const seed = fromBase64url(readFileSync(file, 'latin1').trimEnd(), SEED_LENGTH);
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new HttpcryptError(
        'httpcrypt-key',
        `other users of this machine can read ${file}: chmod 600 changes that`,
        {
          fields: { file },
        },
      );
    if (seed) return ed25519KeyPair(seed);
  } catch (cause) {
    if (cause instanceof HttpcryptError) throw cause;
    throw new HttpcryptError('httpcrypt-key', describeUnreadable(file, cause), { cause, fields: { file } });
  }
  throw new HttpcryptError('httpcrypt-key', `${file} is no channel key`, { fields: { file } });
}

/** Counts requests by address: that of the client, or the last one that a proxy on this machine names. */
function admitting(): (request: IncomingMessage) => Client | undefined {
  const counts = new MinuteCounts();
  return ({ socket, headers }) => {
    const peer = plainAddress(socket.remoteAddress ?? '');
    const named =
      isLoopback(peer) &&
      plainAddress(
        String(headers['x-forwarded-for'] ?? '')
          .split(',')
          .at(-1) ?? '',
      );
    const address = named || peer;
    return counts.count(networkOf(address)).hits > REQUESTS_PER_ADDRESS ? undefined : { address, clients: 1 };
  };
}
