/**
 * The tour, the first address that `npm run demo` prints: one page as its subscriber sees it, beside what a cache holds of it, and a button that
 * changes one byte on the way. The page comes through a Reader of its own that keeps nothing, and so asks anew each time.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { urlPathOf } from '../core/site/path.ts';
import type { DishonestCache } from './dishonest-cache.ts';
import { close, listen } from './hosts.ts';
import { throughProxy } from './reading.ts';

export interface TourOptions {
  readonly site: string;
  /** The document that is shown, and the URL path of its object. */
  readonly path: string;
  readonly object: string;
  /** URL of the proxy of the Reader that shows it. */
  readonly proxy: string;
  /** Between that Reader and the content host. */
  readonly cache: DishonestCache;
  /** URL of the content host. */
  readonly content: string;
  /** The page in a Reader that people can go on with. */
  readonly gateway: string;
  /** Makes an invitation. @returns its link */
  readonly invite: () => Promise<string>;
}

export interface Tour {
  readonly url: string;
  stop(): Promise<void>;
}

const PAGE = fileURLToPath(new URL('./tour.html', import.meta.url));
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";

/** Of both ends of an object: what `xxd` shows on so many lines. */
const SHOWN = { begin: 96, end: 228 } as const;

/** Not passed on: what belongs to the connection, or says that the page is in no frame. */
const DROPPED = new Set([
  'connection',
  'content-security-policy',
  'keep-alive',
  'transfer-encoding',
  'x-frame-options',
]);

export async function startTour(options: TourOptions): Promise<Tour> {
  const seen = createServer();
  const seenUrl = await listen(seen);
  const tour = createServer();
  const url = await listen(tour);
  const dispatcher = throughProxy(options.proxy);
  answerWith(seen, async ({ url: target = '/' }, response) => {
    const { statusCode, headers, body } = await request(`http://${options.site}${target}`, { dispatcher });
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && !DROPPED.has(name)) response.setHeader(name, value);
    response.setHeader('content-security-policy', `frame-ancestors ${url}`);
    response.writeHead(statusCode);
    for await (const piece of body) response.write(piece);
    response.end();
  });
  answerWith(tour, (incoming, response) => answerTour(options, seenUrl, incoming, response));
  return {
    url: `${url}/`,
    stop: async () => {
      await Promise.all([close(tour), close(seen)]);
      await dispatcher.close();
    },
  };
}

async function answerTour(
  { cache, content, gateway, invite, object, path }: TourOptions,
  seenUrl: string,
  { method, url }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const addresses = { address: content + object, gateway, page: `${seenUrl}${urlPathOf(path)}` };
  switch (`${method} ${url}`) {
    case 'GET /': {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.setHeader('content-security-policy', `${POLICY}; frame-src ${seenUrl}`);
      return void response.end(await readFile(PAGE));
    }
    case 'GET /held': {
      const { body } = await request(cache.url + object);
      return sendJson(response, { ...addresses, ...describeObject(Buffer.from(await body.arrayBuffer())) });
    }
    case 'POST /change':
      cache.tamperWith(object);
      return sendJson(response, {});
    case 'POST /restore':
      cache.beHonest();
      return sendJson(response, {});
    case 'GET /invitation':
      return void response.writeHead(303, { location: await invite() }).end();
    default:
      response.writeHead(404).end();
  }
}

function describeObject(bytes: Buffer) {
  const start = Math.max(SHOWN.begin, bytes.length - SHOWN.end);
  return { length: bytes.length, begin: dump(bytes, 0, SHOWN.begin), end: dump(bytes, start, bytes.length) };
}

/** Lines of 12 bytes, as hexadecimal digits and as text. */
function dump(bytes: Buffer, start: number, end: number): string[] {
  const lines: string[] = [];
  for (let at = start; at < end; at += 12) {
    const line = bytes.subarray(at, Math.min(end, at + 12));
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = Array.from(line, (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${hex.padEnd(36)} ${text}`);
  }
  return lines;
}

function answerWith(server: Server, answer: (incoming: IncomingMessage, response: ServerResponse) => Promise<void>) {
  server.on('request', (incoming, response) => {
    answer(incoming, response).catch(() => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  });
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(value));
}
