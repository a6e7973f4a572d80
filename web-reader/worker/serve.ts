/**
 * The service worker of the content origin: every request of its pages for something of this origin comes here, and is answered with what the
 * publisher signed or not at all. Other hosts are none of its business, and most pages below `/-/` are the origin's own.
 *
 * A newer version takes over when the last page of this one is closed, as browsers do by themselves: never under a page that is open.
 */
import { KEYS_PAGE, READING_SITE_PAGES } from '../../core/site/path.ts';
import { AHEAD, KEYS_ADDRESS, TAKE_OVER } from '../names.ts';
import { isFromVault } from './arrival.ts';
import type { CreateMissingKeys } from './missing-keys.ts';
import { answerOwn } from './own-pages.ts';
import { keepScripts } from './own-scripts.ts';
import { WebReader } from './reader.ts';
import { type FetchEvent, scope } from './scope.ts';

/** Documents that are read ahead of a page. */
const MOST_AHEAD = 16;
/** Looked after once in the life of a worker. */
let scripts: Promise<void> | undefined;

/** Answers from now on. To be called while the script is run for the first time: browsers look then which events it takes. */
export function serveOrigin(createKeys: CreateMissingKeys): void {
  const reader = new WebReader(createKeys);
  // A worker of the site's own would make this one wait until the last of its pages is closed.
  const { active } = scope.registration;
  if (active && active.scriptURL !== scope.location.href) scope.addEventListener('install', () => scope.skipWaiting());
  // Left out beside a worker that is at work: both would write.
  if (!active) scope.addEventListener('install', () => void reader.begin().catch(() => undefined));
  scope.addEventListener('fetch', (event) => take(reader, event));
  scope.addEventListener('message', (event) => {
    const { data, ports } = event;
    if (data === TAKE_OVER) scope.skipWaiting();
    const target = data?.[KEYS_ADDRESS];
    if (typeof target === 'string')
      event.waitUntil(reader.addressOfKeys(target).then((address) => ports[0]?.postMessage(address)));
    if (Array.isArray(data?.[AHEAD])) event.waitUntil(readAhead(reader, data[AHEAD]));
  });
}

function take(reader: WebReader, event: FetchEvent): void {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== scope.location.origin) return;
  const answered =
    pathname === READING_SITE_PAGES || pathname.startsWith(`${READING_SITE_PAGES}/`)
      ? answerBelow(reader, event, pathname)
      : answerFor(reader, event);
  if (answered) event.respondWith(answered);
}

/** @returns `undefined` where the origin answers */
function answerBelow(reader: WebReader, event: FetchEvent, pathname: string): Promise<Response> | undefined {
  const { request } = event;
  const isArrival = request.method === 'POST' || request.destination === 'iframe';
  if (isArrival && pathname === KEYS_PAGE && scope.wisprSite.reading) return reader.arrive(request);
  return answerOwn(reader, event);
}

/** @returns `undefined` where the origin refuses it: what is not read */
function answerFor(reader: WebReader, event: FetchEvent): Promise<Response> | undefined {
  const { request } = event;
  // A form of the account's that brings a session, which this browser does not need.
  if (request.method === 'POST' && request.mode === 'navigate' && isFromVault(request))
    return Promise.resolve(Response.redirect(request.url, 303));
  if (!['GET', 'HEAD'].includes(request.method)) return undefined;
  const answer = reader.answer(request, event.clientId);
  if (request.mode === 'navigate') {
    scripts ??= keepScripts().catch(() => undefined);
    event.waitUntil(scripts);
  }
  return answer;
}

/** Reads what a page says, so that it is kept here. @param addresses - of anywhere */
async function readAhead(reader: WebReader, addresses: readonly unknown[]): Promise<void> {
  const own = addresses.map(String).filter((each) => each.startsWith(`${scope.location.origin}/`));
  const read = async (address: string) => (await reader.answer(new Request(address), '')).arrayBuffer();
  await Promise.allSettled(own.slice(0, MOST_AHEAD).map(read));
}
