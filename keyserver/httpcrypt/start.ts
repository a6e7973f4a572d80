/** Starts what stands behind the HTTPCrypt endpoint: the channel key, the server keys, and their announcement in DNS. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { ed25519KeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { RequestHead } from '../../core/httpcrypt/binary-http.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { startAnnounced } from '../../httpcrypt/announcement.ts';
import { createListener } from '../../httpcrypt/listener.ts';
import {
  clientAddress,
  clientsBehind,
  type IsTrustedProxy,
  trustedProxies,
} from '../../node-support/client-address.ts';
import { MinuteCounts } from '../../node-support/minute-counts.ts';
import type { HttpcryptConfig } from '../config/schema.ts';
import type { Metrics } from '../operations/metrics.ts';
import { readSecret } from '../storage/secrets.ts';
import { answerMessages, type MessagesOptions } from './messages.ts';

const LISTENER = 'httpcrypt';

export interface StartedHttpcrypt {
  readonly app: RequestListener;
  /** Endpoint that the publisher's descriptor has to name. */
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
  const { url } = config;
  const signer = ed25519KeyPair(await readSecret(state, 'httpcrypt'));
  const keys = await startAnnounced({ ...config, signer, now: state.now }, (error) =>
    log.error({ err: error }, 'the DNS records for HTTPCrypt cannot be written'),
  );
  const announced = { key: toBase64url(signer.publicKey), url };
  log.info(announced, 'HTTPCrypt: the publisher names this in the descriptor');
  const named = (await provider.read())?.descriptor.httpcrypt;
  if (named && (named.key !== announced.key || named.url !== url))
    log.warn({ descriptor: named }, 'the descriptor names another endpoint for HTTPCrypt: readers refuse this one');
  const note = (method: string, route: string, status: number, ms: number) => {
    metrics.count(LISTENER, route, status);
    log.info({ listener: LISTENER, method, route, status, ms }, 'request');
  };
  const counts = new MinuteCounts();
  const isShared = trustedProxies(limits.sharedNetworks);
  const admit = (request: IncomingMessage) => {
    const client = {
      address: clientAddress(request, isTrustedProxy),
      clients: clientsBehind(request, isTrustedProxy, isShared),
    };
    return counts.count(client.address).hits > limits.keyRequestsPerAddress * client.clients ? undefined : client;
  };
  const mayRepeat = ({ method, path }: RequestHead) => method === 'POST' && path === KEY_REQUEST_PATH;
  const app = createListener({ url, keys, admit, mayRepeat, answer: answerMessages(options), note });
  return { app, announced, stop: () => keys.stop() };
}
