/** The journey of a site from its publisher to two readers, told step by step. */
import { request } from 'undici';
import { urlPathOf } from '../core/site/path.ts';
import type { RunningKeyServer } from '../keyserver/server.ts';
import { size } from '../node-support/size.ts';
import type { ProtectSummary } from '../publisher/protect/summary.ts';
import { count } from '../publisher/text.ts';
import type { ContentHost } from './hosts.ts';
import { type ReadingReport, readSite, throughProxy } from './reading.ts';
import type { SiteSettings } from './site.ts';
import { publishedObjects } from './site.ts';
import type { Tour, TourOptions } from './tour.ts';
import type { Person, World } from './world.ts';

/** Says a step: what was done, and its figures. */
export type Teller = (what: string, figures: string) => void;

/** Where everything is, for people and programs that want to try. */
export interface Addresses {
  readonly tour: string;
  readonly proxy: string;
  readonly gateway: string;
  readonly site: string;
  readonly keyserver: string;
  readonly reading: string;
  readonly origin: string;
  /** `null` where neither Varnish nor Squid is installed. */
  readonly cache: string | null;
}

/** How it ended. */
export interface Ending {
  readonly addresses: Addresses;
  /** Every document came back byte for byte, twice; and, with `tamper`, the altered one was refused. */
  readonly good: boolean;
  readonly summary: Record<string, unknown>;
  /** What a person can type now. */
  readonly tries: readonly (readonly [label: string, what: string])[];
}

/** @throws whatever keeps the journey from going on: a server that does not start, a site that is refused */
export async function tell(world: World, settings: SiteSettings, tamper: boolean, say: Teller): Promise<Ending> {
  const server = await world.startKeyServer();
  const host = await world.startContentHost(server.readingUrl);
  const cache = await world.startSharedCache(host);
  const reverse = cache?.kind === 'reverse' ? cache.url : host.url;
  const dishonest = tamper ? await world.startDishonestCache(reverse) : undefined;
  const content = dishonest?.url ?? reverse;

  const { made, protection } = await world.publish(server, content);
  say('made keys', `publisher ${made.publisher.slice(0, 12)}…; they would stay offline`);
  say('protected the site', describeProtection(protection));
  say('started a web host', `${host.name} on ${host.url}`);
  say(
    'started a shared cache',
    cache ? `${cache.name} on ${cache.url}` : 'none: neither Varnish nor Squid is installed',
  );
  say(
    'started the key server',
    `${count(protection.sets.length, 'set key')} handed over; reading site on ${server.readingUrl}`,
  );

  // What a Reader has kept it shows again, whatever the web does: for the refusal, Ada's has to fetch.
  const ada = await world.addReader('ada', server, cache, tamper ? { cacheBytes: 0 } : {});
  const ben = await world.addReader('ben', server, cache);
  say('connected two readers', `Ada's Reader on ${ada.proxy.url}, Ben's on ${ben.proxy.url}`);

  const objects = await publishedObjects(world.out);
  const paths = [...objects.keys()];
  const { first, second, asked, askedAgain } = await readTwice(paths, settings, [ada, ben], host, say);

  const sample = sampleOf(paths, protection.public);
  const object = objects.get(sample) ?? '';
  const cipher = await lookAtCache(content, sample, object);
  say('asked the cache without keys', cipher);
  const refused = dishonest && (await tamperWithOne(dishonest, ada.proxy.url, settings.site, sample, object));
  if (refused) say('the cache changed one byte', refused.text);

  const gateway = (await ada.proxy.gatewayUrl(settings.site)) ?? '';
  const onGateway = `${gateway.slice(0, -1)}${urlPathOf(sample)}`;
  const tour = await startTour(world, server, {
    site: settings.site,
    path: sample,
    object,
    content,
    gateway: onGateway,
  });
  const addresses: Addresses = {
    tour: tour.url,
    proxy: ada.proxy.url,
    gateway,
    site: `http://${settings.site}/`,
    keyserver: server.url,
    reading: server.readingUrl,
    origin: host.url,
    cache: cache?.url ?? null,
  };
  return {
    addresses,
    good: allSame(first) && allSame(second) && (refused?.good ?? true),
    summary: summarise(first, second, asked, askedAgain, protection, refused?.code),
    tries: [
      ['the tour', `${tour.url}   (one page, what the cache holds of it, and what one changed byte does)`],
      ['in any browser', `${await world.invite('cleo', server)}   (an invitation; nothing to install)`],
      ['the account there', `${server.readingUrl}/-/account`],
      ['through a Reader', paths.includes('/index.html') ? addresses.gateway : onGateway],
      ['or without one', `curl -x ${addresses.proxy} http://${settings.site}${urlPathOf(sample)}`],
      ['what the cache holds', `curl ${content}${object} | head -c 900 | cat -v`],
      ['as a visitor', `${content}${urlPathOf(sample)}   (sign in as ${ada.name}, ${ada.password})`],
      ...(refused ? ([['the refusal', onGateway]] as const) : []),
    ],
  };
}

/** A third Reader is for the tour alone: it keeps nothing, and what it asks for passes a cache that may change a byte. */
async function startTour(
  world: World,
  server: RunningKeyServer,
  shown: Pick<TourOptions, 'site' | 'path' | 'object' | 'content' | 'gateway'>,
): Promise<Tour> {
  const cache = await world.startDishonestCache(shown.content);
  const reader = await world.addReader('dora', server, undefined, { cacheBytes: 0, parentProxy: cache.url });
  const invite = () => world.invite('cleo', server);
  return world.startTour({ ...shown, cache, proxy: reader.proxy.url, invite });
}

/** Two people read the whole site, one after the other; the second should cost the web host nothing where there is a cache. */
async function readTwice(
  paths: readonly string[],
  { site, source }: SiteSettings,
  [ada, ben]: readonly [Person, Person],
  host: ContentHost,
  say: Teller,
): Promise<{ first: ReadingReport; second: ReadingReport; asked: number; askedAgain: number }> {
  const first = await readSite({ site, source, paths, proxy: ada.proxy.url });
  const asked = await settled(host.requestCount);
  say('Ada read everything', `${describeReading(first)}; the web host was asked ${asked} times`);
  const second = await readSite({ site, source, paths, proxy: ben.proxy.url });
  const askedAgain = (await settled(host.requestCount)) - asked;
  say('Ben read everything', `${describeReading(second)}; the web host was asked ${askedAgain} times`);
  return { first, second, asked, askedAgain };
}

function describeProtection(protection: ProtectSummary): string {
  const { documents, sets, public: open, bytesIn, bytesOut, milliseconds } = protection;
  const publicDocuments = open.reduce((sum, group) => sum + group.documents, 0);
  const sizes = `${size(bytesIn)} became ${size(bytesOut)} of objects`;
  const what = `${count(documents, 'document')}, ${publicDocuments} of them public, in ${count(sets.length, 'set')}`;
  return `${what}; ${sizes} in ${seconds(milliseconds)}`;
}

function describeReading({ outcomes, milliseconds }: ReadingReport): string {
  const same = outcomes.filter((outcome) => outcome.same).length;
  return `${same} of ${outcomes.length} documents byte for byte in ${seconds(milliseconds)}`;
}

function summarise(
  first: ReadingReport,
  second: ReadingReport,
  asked: number,
  askedAgain: number,
  protection: ProtectSummary,
  refusal: string | undefined,
): Record<string, unknown> {
  const { documents, bytesIn, bytesOut, milliseconds } = protection;
  const different = [...first.outcomes, ...second.outcomes].filter(({ same }) => !same).map(({ path }) => path);
  return {
    documents,
    bytesIn,
    bytesOut,
    protectMilliseconds: Math.round(milliseconds),
    readers: 2,
    same: first.outcomes.length + second.outcomes.length - different.length,
    different,
    hostRequests: [asked, askedAgain],
    ...(refusal !== undefined && { refusal }),
  };
}

function allSame({ outcomes }: ReadingReport): boolean {
  return outcomes.length > 0 && outcomes.every(({ same }) => same);
}

/** An encrypted document, a page if there is one. */
function sampleOf(paths: readonly string[], open: ProtectSummary['public']): string {
  const readable = new Set(open.flatMap((group) => group.paths));
  const encrypted = paths.filter((path) => !readable.has(path));
  return encrypted.find((path) => path.endsWith('.html')) ?? encrypted[0] ?? '/index.html';
}

async function lookAtCache(content: string, path: string, urlPath: string): Promise<string> {
  const { body } = await request(content + urlPath);
  const object = Buffer.from(await body.arrayBuffer());
  const counts = new Map<number, number>();
  const payload = object.subarray(-Math.min(object.length, 4096));
  for (const byte of payload) counts.set(byte, (counts.get(byte) ?? 0) + 1);
  const entropy = [...counts.values()].reduce(
    (sum, count) => sum - (count / payload.length) * Math.log2(count / payload.length),
    0,
  );
  return `${object.length} bytes of ${path}: ciphertext, ${entropy.toFixed(2)} bits of entropy a byte`;
}

async function tamperWithOne(
  cache: { tamperWith(urlPath: string): void },
  proxy: string,
  site: string,
  path: string,
  object: string,
): Promise<{ text: string; code: string; good: boolean }> {
  cache.tamperWith(object);
  const dispatcher = throughProxy(proxy);
  const { statusCode, body } = await request(`http://${site}${urlPathOf(path)}`, { dispatcher });
  const page = await body.text();
  await dispatcher.close();
  const code = /<code[^>]*>([a-z-]+)<\/code>/.exec(page)?.[1] ?? 'none';
  return {
    text: `Ada's Reader, which keeps nothing here and so fetched again, refused ${path} (${statusCode}, ${code})`,
    code,
    good: statusCode === 502 && code !== 'none',
  };
}

/** Servers log a request shortly after they answered it: counts until the count stands still. */
async function settled(count: () => Promise<number>): Promise<number> {
  for (let before = -1, now = await count(); ; before = now, now = await count()) {
    if (before === now) return now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
