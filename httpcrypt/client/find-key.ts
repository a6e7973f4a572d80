/** Finds the current key of an HTTPCrypt endpoint: docs/spec/httpcrypt.md, "Server keys". */
import type { Resolver } from 'node:dns/promises';
import { type Dispatcher, request } from 'undici';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { readAtMost } from '../../core/encoding/byte-reader.ts';
import { equalBytes, fromUtf8 } from '../../core/encoding/bytes.ts';
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { ChannelError } from '../../core/httpcrypt/errors.ts';
import {
  MAXIMUM_RECORD_ANSWER,
  recordFromAddresses,
  recordFromAnswer,
  recordFromText,
  type ServerKey,
  verifyRecord,
} from '../../core/httpcrypt/record.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askNameServers } from '../../node-support/name-servers.ts';
import { recordName } from '../announcement.ts';

/** Milliseconds for the endpoint itself to say its key. */
const ANSWER_TIME = 30_000;

export interface WhereToAsk {
  readonly endpoint: HttpcryptEndpoint;
  readonly dispatcher: Dispatcher;
  /** Addresses of name servers; the system's if left out. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Fields of the client's other requests. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Found = readonly (Uint8Array | undefined)[];
type Ask = (where: WhereToAsk) => Promise<Found>;

const WAYS: readonly Ask[] = [
  byName(async (resolver, name) => (await resolver.resolveTxt(name)).map((pieces) => recordFromText(pieces.join('')))),
  byName(async (resolver, name) =>
    (await resolver.resolveTlsa(`_80._tcp.${name}`)).map(({ certUsage, selector, match, data }) =>
      certUsage === 3 && selector === 1 && match === 0 ? new Uint8Array(data) : undefined,
    ),
  ),
  byName(async (resolver, name) => [recordFromAddresses(await resolver.resolve6(name))]),
  byName(async (resolver, name) => [recordFromAddresses(await resolver.resolve4(name))]),
  askEndpoint,
];

/**
 * Asks DNS, then the endpoint, and takes the first key that passes the checks.
 *
 * @param failed - one that is not taken again
 * @throws ChannelError `channel-key-refused`; errors of the dispatcher that have a code
 */
export async function findServerKey(where: WhereToAsk, failed?: ServerKey): Promise<ServerKey> {
  const { url, key: channelKey } = where.endpoint;
  const endpoint = { url, key: fromBase64url(channelKey) ?? new Uint8Array(0) };
  let failure: unknown = new Error('none is announced');
  const refused = (error: unknown) => {
    failure = error;
  };
  for (const ask of WAYS) {
    for (const record of (await ask(where).catch(refused)) ?? []) {
      const key = record && (await verifyRecord(record, endpoint, nowInSeconds()).catch(refused));
      if (key && !(failed && equalBytes(key.id, failed.id))) return key;
      if (key) failure = new Error('what is announced has failed');
    }
  }
  // The client's own refusal to connect, such as of a local address, has advice of its own.
  if (failure instanceof CodedError && !(failure instanceof ChannelError)) throw failure;
  throw new ChannelError('channel-key-refused', `${url} has no key for HTTPCrypt: ${reasonOf(failure)}`);
}

/** Tells whether an endpoint that answers so is asked too often, or has too much to do. */
export function isBusy(status: unknown): status is 429 | 503 {
  return status === 429 || status === 503;
}

async function askEndpoint({ dispatcher, endpoint, headers = {} }: WhereToAsk): Promise<Found> {
  const signal = AbortSignal.timeout(ANSWER_TIME);
  const answer = await request(endpoint.url, { dispatcher, method: 'OPTIONS', headers, signal });
  const body = await readAtMost(answer.body, MAXIMUM_RECORD_ANSWER);
  const { statusCode } = answer;
  const record = statusCode === 200 && body ? recordFromAnswer(fromUtf8(body) ?? '') : undefined;
  if (isBusy(statusCode)) throw new Error(`it has too much to do, and answered ${statusCode} to OPTIONS: try again`);
  if (!record) throw new Error(`it answered ${statusCode} to OPTIONS, and no key: is it the address of an endpoint?`);
  return [record];
}

/** Asks name servers; an IP address has no names. */
function byName(ask: (resolver: Resolver, name: string) => Promise<Found>): Ask {
  return async ({ endpoint, dnsServers }) => {
    const name = recordName(endpoint.url);
    return name === undefined ? [] : askNameServers(dnsServers, (resolver) => ask(resolver, name));
  };
}
