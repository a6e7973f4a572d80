/** The app of the HTTPCrypt endpoint: docs/spec/httpcrypt.md, the key server's side. Without express, which would take as long as all of its cryptography. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { randomBytes } from '#primitives';
import {
  type ChannelRequest,
  decodeCookie,
  MAXIMUM_REQUEST,
  openRequest,
  SHORTEST_ANSWER,
  sealAnswer,
} from '../../core/httpcrypt/message.ts';
import { recordText } from '../../core/httpcrypt/record.ts';
import { clientAddress, clientsBehind, type IsTrustedProxy } from '../http/client-address.ts';
import { CountStore } from '../http/count-store.ts';
import { load } from '../http/load.ts';
import type { ServerKeys } from './server-keys.ts';

const MINUTE = 60_000;
/** What did not come to a message. */
const NO_ROUTE = 'none';

/** What is said about one request besides what stands in it. */
export interface Circumstances {
  readonly address: string;
  /** Number of clients behind it: the limits of one address apply so many times. */
  readonly clients: number;
  /** It cannot have been here before. */
  readonly fresh: boolean;
}

export interface Answer {
  readonly status: number;
  readonly content: Uint8Array;
  readonly route: string;
}

/** What is noted of a request: the status is the one that the Reader sees. */
type Outcome = Pick<Answer, 'status' | 'route'>;

export interface HttpcryptAppOptions {
  readonly url: string;
  readonly keys: ServerKeys;
  readonly requestsPerAddress: number;
  readonly isTrustedProxy: IsTrustedProxy;
  readonly isShared: IsTrustedProxy;
  /** Answers what is inside; does not throw. */
  readonly answer: (request: ChannelRequest, circumstances: Circumstances) => Promise<Answer>;
  /** Called for each answer: what was asked for, the status that the Reader sees, milliseconds. */
  readonly note: (method: string, route: string, status: number, ms: number) => void;
}

export function createHttpcryptApp(options: HttpcryptAppOptions): RequestListener {
  const prefix = new URL(options.url).pathname;
  const counts = new CountStore();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<Outcome> => {
    const address = clientAddress(request, options.isTrustedProxy);
    if (!request.url?.startsWith(prefix)) return plain(response, 404);
    const clients = clientsBehind(request, options.isTrustedProxy, options.isShared);
    if (counts.count(address).hits > options.requestsPerAddress * clients) return plain(response, 429);
    if (request.method === 'OPTIONS') return plain(response, 200, recordText(await options.keys.record()));
    if (request.method !== 'POST') return plain(response, 404);
    const body = await readBody(request);
    if (body === 'too long') return plain(response, 413);
    if (body === 'cut') return { status: 400, route: NO_ROUTE };
    const taken = load.begin();
    if (!taken) return plain(response, 503);
    try {
      return await serveMessage(options, { address, clients }, { request, response, body });
    } finally {
      taken.end();
    }
  };
  return async (request, response) => {
    const start = performance.now();
    const outcome = serve(request, response).catch((): Outcome => {
      response.destroy();
      return { status: 500, route: NO_ROUTE };
    });
    const { status, route } = await outcome;
    options.note(request.method ?? '', route, status, Math.round(performance.now() - start));
  };
}

async function serveMessage(
  { keys, answer }: HttpcryptAppOptions,
  client: Omit<Circumstances, 'fresh'>,
  { request, response, body }: { request: IncomingMessage; response: ServerResponse; body: Uint8Array },
): Promise<Outcome> {
  const cookie = decodeCookie(request.headers.cookie);
  const opening = cookie && (await keys.open(cookie.keyId, cookie.shown));
  const message = opening && openRequest(opening.publicKey, opening.exchange, body);
  if (!message) {
    send(response, randomBytes(SHORTEST_ANSWER));
    return { status: 400, route: NO_ROUTE };
  }
  const { status, content, route } = await answer(message, { ...client, fresh: opening.fresh });
  send(response, await sealAnswer(opening.exchange.secret, body, { status, content, ticket: opening.issue() }));
  return { status, route };
}

function readBody(request: IncomingMessage): Promise<Uint8Array | 'too long' | 'cut'> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
      if (length > MAXIMUM_REQUEST) resolve('too long');
      else parts.push(part);
    });
    request.once('end', () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
    request.once('close', () => resolve('cut'));
  });
}

function send(response: ServerResponse, body: Uint8Array): void {
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': body.length,
    'Cache-Control': 'no-store, no-transform',
  });
  response.end(body);
}

/** An answer that is not sealed, and says nothing that is not public. */
function plain(response: ServerResponse, status: number, text = ''): Outcome {
  const close = status === 413 && { Connection: 'close' };
  const pause = status === 429 ? MINUTE / 1000 : Math.ceil(load.pause());
  const wait = (status === 429 || status === 503) && { 'Retry-After': pause };
  response.writeHead(status, {
    'Content-Type': 'text/plain',
    'Content-Length': text.length,
    'Cache-Control': 'no-store, no-transform',
    ...close,
    ...wait,
  });
  response.end(text);
  return { status, route: NO_ROUTE };
}
