/** The messages to a key server, over HTTP: docs/spec/keys.md. What comes back is checked by `core/keys`. */
import type { Dispatcher } from 'undici';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { BINDING_PATH, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { type ProviderDescriptor, type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { KEY_REQUEST_PATH, REQUEST_TIME_TOLERANCE } from '../../core/keys/key-request.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { DESCRIPTOR_PATH } from '../../core/site/well-known.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError } from '../errors.ts';
import type { Upstream } from '../network/upstream.ts';
import { type ExchangeResult, exchange, POSTED, sendTo } from './exchange.ts';

export interface FetchedDescriptor {
  readonly descriptor: VerifiedDescriptor;
  readonly bytes: Uint8Array;
}

/** Fetches and verifies a descriptor. @throws ReaderError of exchange.ts, `key-server-answer`; KeyError */
export async function fetchDescriptor(
  dispatcher: Dispatcher,
  origin: string,
  { ofReadingSite = false } = {},
): Promise<FetchedDescriptor> {
  const answer = await exchange(dispatcher, origin, DESCRIPTOR_PATH, { maximumLength: MESSAGE_LIMITS.descriptor });
  if (answer.status !== 200) {
    throw new ReaderError('key-server-answer', `${origin} answered ${answer.status} when asked who it serves`);
  }
  const descriptor = await verifyDescriptor(answer.body, nowInSeconds());
  const isNamed = ofReadingSite && descriptor.sites.some(({ reading }) => reading === origin);
  if (descriptor.keyServer !== origin && !isNamed)
    throw new ReaderError('key-server-answer', `${origin} shows the descriptor of ${descriptor.keyServer}`);
  return { descriptor, bytes: answer.body };
}

/** Way in which messages go to a key server: HTTPS, or HTTPCrypt, and then that alone. */
export interface KeyServerChannel {
  readonly keyServer: string;
  /** @throws ReaderError of exchange.ts; ChannelError */
  post(path: string, body: Uint8Array, maximumLength: number): Promise<ExchangeResult>;
}

/** HTTPCrypt, where the reader has chosen it and the signed descriptor names an endpoint. */
export function channelTo(
  upstream: Upstream,
  { keyServer, httpcrypt: endpoint }: Pick<ProviderDescriptor, 'httpcrypt' | 'keyServer'>,
): KeyServerChannel {
  if (upstream.httpcrypt && endpoint) {
    const dispatcher = upstream.overHttpcrypt(endpoint);
    const { origin } = new URL(endpoint.url);
    const common = { method: 'POST', headers: POSTED } as const;
    const post: KeyServerChannel['post'] = (path, body, maximumLength) =>
      sendTo(dispatcher, origin + path, { ...common, body, maximumLength, idempotent: path === KEY_REQUEST_PATH });
    return { keyServer, post };
  }
  const post: KeyServerChannel['post'] = (path, body, maximumLength) =>
    exchange(upstream.keyServers, keyServer, path, { body, maximumLength });
  return { keyServer, post };
}

/** @param account - where devices are removed @throws as the channel; ReaderError of what the key server refused */
export async function sendBindingRequest(
  channel: KeyServerChannel,
  body: Uint8Array,
  account: string,
): Promise<Uint8Array> {
  const { keyServer } = channel;
  const answer = await post(channel, BINDING_PATH, body, MESSAGE_LIMITS.bindingAnswer);
  if (answer.status === 200) return answer.body;
  const code = codeOf(answer);
  if (answer.status === 429) throw new ReaderError('code-refused', `${keyServer} was asked too often`);
  if (code === 'seats-taken')
    throw new ReaderError(code, 'all seats of the group that this invitation is for are taken');
  if (code === 'too-many-devices')
    throw new ReaderError(code, `no further Reader may be connected: remove one at ${account}`);
  if (code === 'code-refused' || answer.status === 403)
    throw new ReaderError('code-refused', 'the invitation code is mistyped, used on another device, or expired');
  throw new ReaderError('key-server-answer', `${keyServer} refused to connect this device: ${code ?? answer.status}`);
}

/** Asks for another device key; the answer is for `acceptBinding`. @throws as the channel; `revoked`, `clock-off` */
export async function sendRenewalRequest(channel: KeyServerChannel, body: Uint8Array): Promise<Uint8Array> {
  const { keyServer } = channel;
  const answer = await post(channel, RENEWAL_PATH, body, MESSAGE_LIMITS.bindingAnswer);
  if (answer.status === 200) return answer.body;
  if (answer.status === 403)
    throw new ReaderError('revoked', `${keyServer} does not know this device, or not any more`);
  throw new ReaderError('key-server-answer', `${keyServer} answered ${answer.status} when asked for a device key`);
}

/** Asks for keys; the answer is for `openKeyAnswer`. @throws as the channel; `revoked`, `clock-off` */
export async function sendKeyRequest(channel: KeyServerChannel, body: Uint8Array): Promise<Uint8Array> {
  const { keyServer } = channel;
  const answer = await post(channel, KEY_REQUEST_PATH, body, MESSAGE_LIMITS.keyAnswer);
  if (answer.status === 200) return answer.body;
  if (codeOf(answer) === 'request-refused')
    throw new ReaderError('revoked', `${keyServer} does not know this device, or not any more`);
  throw new ReaderError('key-server-answer', `${keyServer} answered ${answer.status} when asked for keys`);
}

/** The reader's clock and the key server's, side by side: what to put right where they differ. */
export function clockOff(keyServer: string, theirs: number): ReaderError {
  const [here, there] = [nowInSeconds(), theirs].map((time) => new Date(time * 1000).toISOString());
  return new ReaderError('clock-off', `this machine's clock says ${here}, that of ${keyServer} says ${there}`);
}

/** @throws as the channel; `clock-off` where it refuses, and the clocks differ */
async function post(
  channel: KeyServerChannel,
  path: string,
  body: Uint8Array,
  maximumLength: number,
): Promise<ExchangeResult> {
  const answer = await channel.post(path, body, maximumLength);
  const { status, time } = answer;
  if (status !== 200 && time !== undefined && Math.abs(time - nowInSeconds()) > REQUEST_TIME_TOLERANCE)
    throw clockOff(channel.keyServer, time);
  return answer;
}

/** The code that an error answer names, for telling refusals apart; of no other consequence. */
function codeOf({ body }: ExchangeResult): string | undefined {
  const [, code] = /"(?:error|code)"\s*:\s*"([a-z-]{1,40})"/.exec(fromUtf8(body.subarray(0, 1000)) ?? '') ?? [];
  return code;
}
