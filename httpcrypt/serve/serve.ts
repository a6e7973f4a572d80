/** A program that stands before any HTTP server and takes HTTPCrypt for it. */
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Agent } from 'undici';
import { ed25519KeyPair, type KeyPair, randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { formatEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { clientAddress, connectionAddress, trustedProxies, wholeAddress } from '../../node-support/client-address.ts';
import { ClientConnections, serverOptions } from '../../node-support/client-connections.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { createServer } from '../../node-support/http.ts';
import { MinuteCounts } from '../../node-support/minute-counts.ts';
import { LONGEST_HEAD, serveOrigin } from '../../node-support/origin-server.ts';
import { describeListening, describeUnreadable, describeUnwritable } from '../../node-support/system-error.ts';
import { startAnnounced } from '../announcement.ts';
import { type Client, createListener } from '../listener.ts';
import type { ServerKeys } from '../server-keys.ts';
import { HttpcryptError } from './errors.ts';
import { serverBehind } from './forward.ts';

/** Bounds of the listener: milliseconds, but for counts. */
const LIMITS = {
  ...{ clientConnections: 2048, clientConnectionsPerAddress: 512, pipelined: 64, fields: 100 },
  ...{ requestHead: 60_000, clientIdle: 65_000 },
};
const REQUESTS_PER_ADDRESS = 1200;
const SEED_LENGTH = 32;

export interface ServeOptions {
  /** Origin of the server behind. */
  readonly to: string;
  /** Address of the endpoint: an {@link isHttpcryptUrl}. */
  readonly url: string;
  /** Takes all addresses, where `host` is left out. */
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

/** Listens until it is closed, also before a server that does not answer, which is reported. @throws HttpcryptError */
export async function serveHttpcrypt(options: ServeOptions): Promise<RunningEndpoint> {
  const { to, url, listen } = options;
  const signer = channelKey(options.key);
  const keys = await startKeys(options, signer);
  const dispatcher = new Agent(); // opens no more connections than clients have
  const server = createServer(serverOptions(LIMITS, { maxHeaderSize: LONGEST_HEAD, requestTimeout: 0 }));
  const behind = serverBehind(to, dispatcher, options.report);
  const app = createListener({ url, keys, admit: admitting(), answer: behind.forward });
  const isProxy = trustedProxies(['loopback']);
  const addressOf = (socket: Socket) => connectionAddress(socket, isProxy);
  serveOrigin(server, new ClientConnections(LIMITS, { addressOf }), app);
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
    throw new HttpcryptError('httpcrypt-listen', describeListening(listen, cause), { cause });
  }
  await behind.check();
  const endpoint = formatEndpoint({ url, key: toBase64url(signer.publicKey) });
  return { endpoint, port: (server.address() as AddressInfo).port, close };
}

/** Makes the first server key. @throws HttpcryptError if its zone cannot be written; later ones are reported */
async function startKeys(options: ServeOptions, signer: KeyPair): Promise<ServerKeys> {
  const { zone = '', report } = options;
  let isStarted = false;
  const keys = await startAnnounced({ ...options, signer, now: nowInSeconds }, (cause) => {
    const why = describeUnwritable(zone, cause);
    if (!isStarted) throw new HttpcryptError('httpcrypt-zone', why, { cause });
    report(why);
  });
  isStarted = true;
  return keys;
}

/** Reads the seed of the channel key, or makes one. */
function channelKey(file: string): KeyPair {
  const refuse = (why: string, cause?: unknown) =>
    new HttpcryptError('httpcrypt-key', why, { cause, fields: { file } });
  let [seed, isOpen]: [Uint8Array | undefined, boolean] = [undefined, false];
  try {
    if (!existsSync(file)) createFile(file, `${toBase64url(randomBytes(SEED_LENGTH))}\n`, 0o600);
    isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
    seed = fromBase64url(readFileSync(file, 'latin1').trimEnd(), SEED_LENGTH);
  } catch (cause) {
    throw refuse((existsSync(file) ? describeUnreadable : describeUnwritable)(file, cause), cause);
  }
  if (isOpen) throw refuse(`other users of this machine can read ${file}: chmod 600 changes that`);
  if (!seed) throw refuse(`${file} is no channel key`);
  return ed25519KeyPair(seed);
}

/** Counts requests by the address of the client, also of one behind a proxy on this machine. */
function admitting(): (request: IncomingMessage) => Client | undefined {
  const counts = new MinuteCounts();
  const isProxy = trustedProxies(['loopback']);
  return (request) => {
    const { hits } = counts.count(clientAddress(request, isProxy));
    return hits > REQUESTS_PER_ADDRESS ? undefined : { address: wholeAddress(request, isProxy), clients: 1 };
  };
}
