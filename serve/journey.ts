/** The journey of the example newspaper from its publisher to two readers, told step by step. */
import { request } from 'undici';
import { urlPathOf } from '../core/site/path.ts';
import { size } from '../node-support/size.ts';
import type { ProtectSummary } from '../publisher/protect/summary.ts';
import { count } from '../publisher/text.ts';
import type { ContentHost } from './hosts.ts';
import { type ReadingReport, readSite, throughProxy } from './reading.ts';
import { sellToStranger } from './sale.ts';
import { type Serving, startServing } from './serving.ts';
import type { SiteSettings } from './site.ts';
import type { Person, World } from './world.ts';

export type Teller = (what: string, figures: string) => void;

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

export interface Ending {
  readonly addresses: Addresses;
  /** Tells whether every document came back byte for byte, twice, the altered one was refused, and the site was sold. */
  readonly good: boolean;
  readonly summary: Record<string, unknown>;
  readonly tries: readonly (readonly [label: string, what: string])[];
}

/** @throws as {@link startServing} */
export async function tell(world: World, settings: SiteSettings, say: Teller): Promise<Ending> {
  const serving = await startServing(world, { port: 0, whole: true });
  const { server, host, shared, cache, publisher, protection, published } = serving;
  say('made keys', `publisher ${publisher.slice(0, 12)}…; they would stay offline`);
  say('protected the site', describeProtection(protection));
  const between = shared ? `${shared.name} on ${shared.url}` : 'no cache: neither Varnish nor Squid is installed';
  say('started web host and cache', `${host.name} on ${host.url}, ${between}`);
  say(
    'started the key server',
    `${count(protection.sets.length, 'set key')} handed over; reading site on ${server.readingUrl}`,
  );

  const ada = await world.addReader('ada', server, shared);
  const ben = await world.addReader('ben', server, shared);
  say('connected two readers', `Ada's Reader on ${ada.proxy.url}, Ben's on ${ben.proxy.url}`);

  const paths = [...published.objects.keys()];
  const { first, second, asked, askedAgain } = await readTwice(paths, settings, [ada, ben], host, say);
  const sample = urlPathOf(published.sample);
  const object = cache.url + published.objects.get(published.sample);
  say('asked the cache without keys', await lookAt(object, published.sample));
  const refused = await tamperWithOne(serving, settings.site);
  say('the cache changed one byte', refused.text);
  const sale = await sellToStranger(serving, settings.source);
  for (const line of sale.lines) say(...line);

  const gateway = (await ada.proxy.gatewayUrl(settings.site)) ?? '';
  return {
    addresses: {
      tour: serving.views.tour,
      proxy: ada.proxy.url,
      gateway,
      site: `http://${settings.site}/`,
      keyserver: server.url,
      reading: server.readingUrl,
      origin: host.url,
      cache: shared?.url ?? null,
    },
    good: allSame(first) && allSame(second) && refused.good && sale.good,
    summary: { ...summarise(first, second, [asked, askedAgain], protection, refused.code), sold: sale.good },
    tries: [
      ['the tour', `${serving.views.tour}   (a stranger, a purchase, one changed byte, the office)`],
      ['in any browser', `${await world.invite('cleo', server)}   (an invitation; nothing to install)`],
      ['the account there', `${server.readingUrl}/-/account`],
      ['through a Reader', gateway],
      ['or without one', `curl -x ${ada.proxy.url} http://${settings.site}${sample}`],
      ['what the cache holds', `curl ${object} | head -c 900 | cat -v`],
      ['as a visitor', `${cache.url}${sample}   (sign in as ${ada.name}, ${ada.password})`],
    ],
  };
}

/** Has two people read the whole site, one after the other; the second should cost the web host nothing where there is a cache. */
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
  hostRequests: readonly number[],
  protection: ProtectSummary,
  refusal: string,
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
    hostRequests,
    refusal,
  };
}

function allSame({ outcomes }: ReadingReport): boolean {
  return outcomes.length > 0 && outcomes.every(({ same }) => same);
}

async function lookAt(url: string, path: string): Promise<string> {
  const { body } = await request(url);
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
  { cache, person, published: { objects, sample } }: Serving,
  site: string,
): Promise<{ text: string; code: string; good: boolean }> {
  const dispatcher = throughProxy(person.proxy.url);
  cache.tamperWith(objects.get(sample) ?? '');
  try {
    const { statusCode, body } = await request(`http://${site}${urlPathOf(sample)}`, { dispatcher });
    const code = /<code[^>]*>([a-z-]+)<\/code>/.exec(await body.text())?.[1] ?? 'none';
    const text = `a Reader that keeps nothing, and so fetched again, refused ${sample} (${statusCode}, ${code})`;
    return { text, code, good: statusCode === 502 && code !== 'none' };
  } finally {
    cache.beHonest();
    await dispatcher.close();
  }
}

/** Counts until the count stands still: servers log a request shortly after they answered it. */
async function settled(count: () => Promise<number>): Promise<number> {
  for (let before = -1, now = await count(); ; before = now, now = await count()) {
    if (before === now) return now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
