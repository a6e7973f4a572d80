/**
 * The tour: a page as a subscriber or a stranger sees it, beside what a cache holds of it, and a button that changes one byte on the way. Following
 * a link in the page shows that page's bytes; what is published again is shown at once.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Dispatcher, request } from 'undici';
import { documentPathOf, urlPathOf } from '../core/site/path.ts';
import { readProgramFile } from '../node-support/program-files.ts';
import type { DishonestCache } from './dishonest-cache.ts';
import { describeObject } from './dump.ts';
import { answerWith, close, listen } from './hosts.ts';
import { throughProxy } from './reading.ts';
import type { Office, Shop } from './shop.ts';

export interface TourOptions {
  readonly site: string;
  /** Port of the tour itself; 0: any free one. */
  readonly port: number;
  /** URL of the proxy of a Reader that keeps nothing: it asks again each time. */
  readonly proxy: string;
  readonly cache: DishonestCache;
  /** The site in a Reader that people can go on with, without a slash at the end. */
  readonly gateway: string;
  /** Makes an invitation. @returns its link */
  readonly invite: () => Promise<string>;
  /** Shop that sells the site, and the operator who looks on; left out where it is not sold. */
  readonly shop?: Shop;
  readonly office?: Office;
}

export interface Published {
  /** The path of every document, with the URL path of its object. */
  readonly objects: ReadonlyMap<string, string>;
  /** Paths of those that are signed, and not encrypted. */
  readonly open: ReadonlySet<string>;
  readonly sample: string;
}

export interface Tour {
  readonly url: string;
  /** Shows this from now on; open pages load again. */
  show(published: Published): void;
  stop(): Promise<void>;
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";

/** Fields that are not passed on: what belongs to the connection, or says that the page is in no frame. */
const DROPPED = new Set([
  'connection',
  'content-security-policy',
  'keep-alive',
  'transfer-encoding',
  'x-frame-options',
]);

/** @throws the system's error where the port is taken */
export async function startTour(options: TourOptions, published: Published): Promise<Tour> {
  const servers = [createServer(), createServer(), createServer(), createServer()] as const;
  const [own, subscriber, stranger, office] = servers;
  const url = await listen(own, options.port);
  const frames = {
    subscriber: await listen(subscriber),
    stranger: await listen(stranger),
    office: await listen(office),
  };
  const dispatcher = throughProxy(options.proxy);
  const state = new TourState(options.cache, published);
  const policy = `frame-ancestors ${url}`;
  const visit = (path: string) => state.visit(path);
  answerFrame(subscriber, { origin: `http://${options.site}`, dispatcher, policy, visit });
  answerFrame(stranger, { origin: options.cache.url, policy, visit });
  if (options.office) answerFrame(office, { ...options.office, policy });
  if (options.shop) options.shop.onNews = () => state.tell('sold');
  answerWith(own, (incoming, response) => answerTour(options, frames, state, incoming, response));
  return {
    url: `${url}/`,
    show: (next) => state.show(next),
    stop: async () => {
      await Promise.all(servers.map(close));
      await dispatcher.close();
    },
  };
}

/** State of what is on show, and the open pages that are told when that changes. */
class TourState {
  readonly #cache: DishonestCache;
  readonly #pages = new Set<ServerResponse>();
  #published: Published;
  path: string;
  cacheIs: 'honest' | 'changing' | 'away' = 'honest';
  /** Purchases and mails before the tour was first opened: not news to whoever takes it. */
  before: { readonly purchases: number; readonly mails: number } | undefined;

  constructor(cache: DishonestCache, published: Published) {
    this.#cache = cache;
    this.#published = published;
    this.path = published.sample;
  }

  get object(): string {
    return this.#published.objects.get(this.path) ?? '';
  }

  get isOpen(): boolean {
    return this.#published.open.has(this.path);
  }

  tamper(): void {
    this.#cache.tamperWith(this.object);
    this.cacheIs = 'changing';
  }

  cutOff(): void {
    this.#cache.cutOff();
    this.cacheIs = 'away';
  }

  restore(): void {
    this.#cache.beHonest();
    this.cacheIs = 'honest';
  }

  show(published: Published): void {
    this.restore();
    this.#published = published;
    if (!published.objects.has(this.path)) this.path = published.sample;
    this.tell('published');
  }

  /** A link in the page was followed. */
  visit(path: string): void {
    if (path === this.path || !this.#published.objects.has(path)) return;
    this.restore();
    this.path = path;
    this.tell('visited');
  }

  /** Server-sent events, until the page is closed. */
  listen(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }).flushHeaders();
    this.#pages.add(response);
    response.on('close', () => this.#pages.delete(response));
  }

  tell(what: 'published' | 'sold' | 'visited'): void {
    for (const page of this.#pages) page.write(`data: ${what}\n\n`);
  }
}

interface FrameSource {
  readonly origin: string;
  readonly dispatcher?: Dispatcher;
  readonly headers?: Readonly<Record<string, string>>;
  readonly policy: string;
  /** Hears of the documents that are followed to. */
  readonly visit?: (path: string) => void;
}

function answerFrame(server: Server, { origin, dispatcher, headers: own, policy, visit }: FrameSource): void {
  answerWith(server, async (incoming, response) => {
    const { method, url = '/' } = incoming;
    if (method !== 'GET')
      return void response.writeHead(405, { 'content-type': 'text/plain' }).end('Only to look at.\n');
    if (incoming.headers['sec-fetch-dest'] === 'iframe') visit?.(documentPathOf(url.split('?')[0] ?? '') ?? '');
    const more = { ...(dispatcher && { dispatcher }), ...(own && { headers: own }) };
    const { statusCode, headers, body } = await request(origin + url, more);
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && !DROPPED.has(name)) response.setHeader(name, value);
    response.setHeader('content-security-policy', policy);
    response.writeHead(statusCode);
    for await (const piece of body) response.write(piece);
    response.end();
  });
}

async function answerTour(
  { cache, gateway, invite, shop }: TourOptions,
  frames: Readonly<Record<'subscriber' | 'stranger' | 'office', string>>,
  state: TourState,
  { method, url }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const page = urlPathOf(state.path);
  switch (`${method} ${url}`) {
    case 'GET /': {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.setHeader('content-security-policy', `${POLICY}; frame-src ${Object.values(frames).join(' ')}`);
      if (shop) state.before ??= { purchases: shop.stripe.purchases.length, mails: shop.mailbox.mails.length };
      return void response.end(readProgramFile('tour.html', import.meta.url));
    }
    case 'GET /held': {
      const object = await fetchObject(cache.url + state.object);
      return sendJson(response, {
        ...{ open: state.isOpen, path: state.path, cacheIs: state.cacheIs },
        ...{ subscriber: frames.subscriber + page, stranger: frames.stranger + page },
        ...{ reader: gateway + page, content: cache.url + page },
        ...(object && describeObject(object)),
        ...(shop && { shop: newsOf(shop, frames.office, state.before) }),
      });
    }
    case 'GET /events':
      return state.listen(response);
    case 'POST /change':
      state.tamper();
      return sendJson(response, {});
    case 'POST /cut-off':
      state.cutOff();
      return sendJson(response, {});
    case 'POST /restore':
      state.restore();
      return sendJson(response, {});
    case 'GET /object':
      return void response.writeHead(303, { location: cache.url + state.object }).end();
    case 'GET /invitation':
      return void response.writeHead(303, { location: await invite() }).end();
    default:
      response.writeHead(404).end();
  }
}

/** `undefined`: the cache does not answer. */
async function fetchObject(url: string): Promise<Buffer | undefined> {
  try {
    const { body } = await request(url);
    return Buffer.from(await body.arrayBuffer());
  } catch {
    return undefined;
  }
}

/** The latest purchase and the latest mail. */
function newsOf({ stripe, mailbox }: Shop, office: string, before = { purchases: 0, mails: 0 }) {
  const last = stripe.purchases.slice(before.purchases).at(-1);
  const query = (name: string) => (last ? `?${new URLSearchParams({ [name]: last.email })}` : '');
  return {
    portal: stripe.portal + query('prefilled_email'),
    office: `${office}/subscribers${query('search')}`,
    bought: last && { email: last.email, title: last.plan.title },
    mail: mailbox.mails.slice(before.mails).at(-1),
  };
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(value));
}
