/** Starts what stands behind the HTTPCrypt endpoint: the channel key, the server keys, and their announcement in DNS. */
import type { RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { ed25519KeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { toHex } from '../../core/encoding/hex.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { recordAddresses, recordText } from '../../core/httpcrypt/record.ts';
import { writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import type { HttpcryptConfig } from '../config/schema.ts';
import { type IsTrustedProxy, trustedProxies } from '../http/client-address.ts';
import type { Metrics } from '../operations/metrics.ts';
import { readSecret } from '../storage/secrets.ts';
import { createHttpcryptApp } from './app.ts';
import { answerMessages, type MessagesOptions } from './messages.ts';
import { ServerKeys } from './server-keys.ts';

const LISTENER = 'httpcrypt';

export interface StartedHttpcrypt {
  readonly app: RequestListener;
  /** What the publisher's descriptor has to say. */
  readonly announced: HttpcryptEndpoint;
  readonly stop: () => void;
}

export interface HttpcryptOptions extends MessagesOptions {
  readonly config: HttpcryptConfig;
  readonly isTrustedProxy: IsTrustedProxy;
  readonly metrics: Metrics;
}

export async function startHttpcrypt(options: HttpcryptOptions): Promise<StartedHttpcrypt> {
  const { config, isTrustedProxy, state, provider, log, limits, metrics } = options;
  const { url, zone, rotateMinutes } = config;
  const signer = ed25519KeyPair(await readSecret(state, 'httpcrypt'));
  const timeToLive = rotateMinutes * 60;
  const announce = async (record: Uint8Array) => {
    try {
      if (zone) writeFileAtomicSync(zone, zoneText(url, record, timeToLive), { mode: 0o644 });
    } catch (error) {
      log.error({ err: error }, 'the DNS records for HTTPCrypt cannot be written');
    }
  };
  const keys = await ServerKeys.start({ url, signer, timeToLive, now: state.now, announce });
  const announced = { key: toBase64url(signer.publicKey), url };
  log.info(announced, 'HTTPCrypt: the publisher names this in the descriptor');
  const named = (await provider.read())?.descriptor.httpcrypt;
  if (named && (named.key !== announced.key || named.url !== url))
    log.warn({ descriptor: named }, 'the descriptor names another endpoint for HTTPCrypt: readers refuse this one');
  const note = (method: string, route: string, status: number, ms: number) => {
    metrics.count(LISTENER, route, status);
    log.info({ listener: LISTENER, method, route, status, ms }, 'request');
  };
  const requestsPerAddress = limits.keyRequestsPerAddress;
  const isShared = trustedProxies(limits.sharedNetworks);
  const answer = answerMessages(options);
  const app = createHttpcryptApp({ url, keys, requestsPerAddress, isTrustedProxy, isShared, answer, note });
  return { app, announced, stop: () => keys.stop() };
}

/** The DNS records of one server key, for a zone to include. A host that is an IP address has none. */
function zoneText(url: string, record: Uint8Array, timeToLive: number): string {
  const { hostname } = new URL(url);
  if (isIP(hostname) > 0 || hostname.startsWith('[')) return '';
  const name = `httpcrypt.${hostname}.`;
  const line = (type: string, value: string, at = name) => `${at} ${timeToLive} IN ${type} ${value}\n`;
  return [
    line('TXT', `"${recordText(record)}"`),
    line('TLSA', `3 1 0 ${toHex(record)}`, `_80._tcp.${name}`),
    ...recordAddresses(record, 6).map((address) => line('AAAA', address)),
    ...recordAddresses(record, 4).map((address) => line('A', address)),
  ].join('');
}
