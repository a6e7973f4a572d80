/** A site as strangers, subscribers and the cache see it: what `wispr serve` starts, and the demonstration around it. */
import { urlPathOf } from '../core/site/path.ts';
import type { RunningKeyServer } from '../keyserver/server.ts';
import type { ProtectSummary } from '../publisher/protect/summary.ts';
import type { DishonestCache } from './dishonest-cache.ts';
import type { ContentHost, SharedCache } from './hosts.ts';
import type { Office, Shop } from './shop.ts';
import type { SiteSettings } from './site.ts';
import type { Published } from './tour.ts';
import { type Person, World } from './world.ts';

export interface Views {
  readonly tour: string;
  readonly stranger: string;
  readonly reader: string;
  /** Leads to the file of the page that the tour shows. */
  readonly cache: string;
}

export interface Serving {
  readonly server: RunningKeyServer;
  readonly host: ContentHost;
  /** Cache behind `cache`, in front of `host`, or beside both as a proxy. */
  readonly shared: SharedCache | undefined;
  /** Cache that everyone asks: honest, unless the tour has it change a byte. */
  readonly cache: DishonestCache;
  /** Person whose Reader keeps nothing, so that it shows what the cache does. */
  readonly person: Person;
  readonly publisher: string;
  readonly protection: ProtectSummary;
  readonly published: Published;
  /** The shop, in the demonstration. */
  readonly shop: Shop | undefined;
  readonly office: Office | undefined;
  readonly views: Views;
  /** Publishes what has changed in the site; open pages load it. */
  publishAgain(): Promise<ProtectSummary>;
}

export interface ServingOptions {
  /** Port of the tour; 0: any free one. */
  readonly port: number;
  /** Shows all of it: a real web host and a real shared cache, where they are installed, and the site is sold. */
  readonly whole?: boolean;
}

/**
 * Does `work` in a world of its own, of which nothing is left afterwards. When `signal` is aborted, the world ends at once, and `work` fails in it.
 *
 * @returns `undefined` if it was aborted before `work` was done
 */
export async function withWorld<Result>(
  settings: SiteSettings,
  signal: AbortSignal,
  work: (world: World) => Promise<Result>,
): Promise<Result | undefined> {
  const world = await World.create(settings);
  const working = work(world);
  try {
    return await Promise.race([working, untilAborted(signal)]);
  } finally {
    await world.close();
    await working.catch(() => undefined); // work may have written something first
    await world.close();
  }
}

/** Waits for the abort, also one that was before. */
export function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/** @throws whatever keeps a server from starting, or the site from being published; the system's error where the port is taken */
export async function startServing(world: World, { port, whole }: ServingOptions): Promise<Serving> {
  const shop = whole ? await world.startShop() : undefined;
  const server = await world.startKeyServer(true, shop?.settings);
  const office = await shop?.open(server);
  const host = whole ? await world.startContentHost(server.readingUrl) : await world.startFileServer();
  const shared = whole ? await world.startSharedCache(host) : undefined;
  const cache = await world.startDishonestCache(shared?.kind === 'reverse' ? shared.url : host.url);
  const { made, protection } = await world.publish(server, cache.url, shop);
  const person = await world.addReader('dora', server, undefined, { cacheBytes: 0 });
  const gateway = ((await person.proxy.gatewayUrl(world.site)) ?? '').slice(0, -1);
  const published = publishedIn(world, protection);
  const invite = () => world.invite('cleo', server);
  const tour = await world.startTour(
    {
      site: world.site,
      port,
      proxy: person.proxy.url,
      cache,
      gateway,
      invite,
      ...(shop && office && { shop, office }),
    },
    published,
  );
  const first = urlPathOf(published.sample).replace(/^\/index\.html$/, '/');
  const views = {
    ...{ tour: tour.url, stranger: cache.url + first, reader: gateway + first },
    cache: `${tour.url}object`,
  };
  return {
    ...{ server, host, shared, cache, person, protection, published, shop, office, views },
    publisher: made.publisher,
    publishAgain: async () => {
      const again = await world.publishAgain();
      await person.proxy.check();
      tour.show(publishedIn(world, again));
      return again;
    },
  };
}

function publishedIn(world: World, { public: groups }: ProtectSummary): Published {
  const objects = world.objects();
  const open = new Set(groups.flatMap(({ paths }) => paths));
  return { objects, open, sample: sampleOf([...objects.keys()], open) };
}

/** Chooses an encrypted document: the front page, or else any page, where there is one. */
function sampleOf(paths: readonly string[], open: ReadonlySet<string>): string {
  const encrypted = paths.filter((path) => !open.has(path));
  const front = encrypted.find((path) => path === '/index.html');
  return front ?? encrypted.find((path) => path.endsWith('.html')) ?? encrypted[0] ?? '/index.html';
}
