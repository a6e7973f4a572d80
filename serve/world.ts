/**
 * Things that are started for a site: a publisher's workspace, a content host, a shared cache, a key server with its reading site, and
 * Readers of people. All of it on loopback, in one temporary directory, and all of it ended by `close`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { randomBytes } from '#primitives';
import { bindSite, type ProxyOptions, parseAllowLocal, type RunningProxy, startProxy } from '../client-proxy/index.ts';
import { toBase64url } from '../core/encoding/base64url.ts';
import { normaliseCode } from '../core/keys/binding.ts';
import type { KeyServerConfig } from '../keyserver/config/config.ts';
import { readProviderRow } from '../keyserver/publication/provider.ts';
import { createToken } from '../keyserver/publication/tokens.ts';
import { invitationLink, inviteSubscriber } from '../keyserver/readers/invitations.ts';
import { type RunningKeyServer, startKeyServer } from '../keyserver/server.ts';
import { joinWithPassword } from '../keyserver/sign-in/accounts.ts';
import { makeDirectory } from '../node-support/make-directory.ts';
import { type InitResult, initWorkspace } from '../publisher/init.ts';
import type { ProtectSummary } from '../publisher/protect/summary.ts';
import { publishFromWorkspace } from '../publisher/publish/publish.ts';
import { locateTargets } from '../publisher/publish/targets.ts';
import { type DishonestCache, startDishonestCache } from './dishonest-cache.ts';
import { type ContentHost, type SharedCache, startContentHost, startFileServer, startSharedCache } from './hosts.ts';
import { type Shop, sellAt, startShop } from './shop.ts';
import { publishedObjects, type SiteSettings } from './site.ts';
import { type Published, startTour, type Tour, type TourOptions } from './tour.ts';

export interface Person {
  readonly name: string;
  readonly proxy: RunningProxy;
  /** Password for the reading site. */
  readonly password: string;
}

interface Publisher {
  readonly made: InitResult;
  readonly passphrase: string;
  readonly token: string;
}

export class World {
  readonly #directory: string;
  readonly #settings: SiteSettings;
  /** Things to end, newest last. */
  readonly #endings: (() => Promise<void>)[] = [];
  #closed = false;
  #publisher: Publisher | undefined;

  private constructor(directory: string, settings: SiteSettings) {
    this.#directory = directory;
    this.#settings = settings;
  }

  static async create(settings: SiteSettings): Promise<World> {
    return new World(await mkdtemp(join(tmpdir(), 'wispr-serve-')), settings);
  }

  get site(): string {
    return this.#settings.site;
  }

  get out(): string {
    return join(this.#directory, 'protected');
  }

  objects(): Map<string, string> {
    return publishedObjects(this.#directory);
  }

  /** Starts what sells the site. */
  async startShop(): Promise<Shop> {
    const shop = await startShop(this.#directory, this.#settings);
    return this.#ending(shop, () => shop.stop());
  }

  /**
   * @param inBrowser - whether browsers that can decrypt the documents of the reading site do so
   * @param more - further settings
   */
  async startKeyServer(inBrowser = true, more: Partial<KeyServerConfig> = {}): Promise<RunningKeyServer> {
    const anywhere = { listen: { host: '127.0.0.1', port: 0 } };
    const file = (name: string) => join(this.#directory, name);
    const config = {
      ...anywhere,
      dev: true,
      reading: { ...anywhere, documents: { ...anywhere, inBrowser } },
      data: file('keys.sqlite'),
      masterKey: file('master.key'),
    };
    const fetchFrom: Record<string, string> = {};
    const server = await startKeyServer(
      { ...config, publicKey: file('keyserver.pub'), fetchFrom, ...more },
      { log: pino({ level: 'silent' }) },
    );
    return this.#ending(server, () => server.close());
  }

  async startContentHost(readingOrigin: string): Promise<ContentHost> {
    await makeDirectory(this.out);
    const host = await startContentHost(this.out, readingOrigin);
    return this.#ending(host, () => host.stop());
  }

  async startFileServer(): Promise<ContentHost> {
    await makeDirectory(this.out);
    const host = await startFileServer(this.out);
    return this.#ending(host, () => host.stop());
  }

  async startSharedCache(host: ContentHost): Promise<SharedCache | undefined> {
    const cache = await startSharedCache(host);
    return cache && this.#ending(cache, () => cache.stop());
  }

  async startDishonestCache(behind: string): Promise<DishonestCache> {
    const cache = await startDishonestCache(behind);
    return this.#ending(cache, () => cache.stop());
  }

  async startTour(options: TourOptions, published: Published): Promise<Tour> {
    const tour = await startTour(options, published);
    return this.#ending(tour, () => tour.stop());
  }

  /**
   * Makes the publisher's keys, and publishes for the first time.
   *
   * @param content - URL of the content host
   * @param shop - where plans are bought; without one, they cannot be
   */
  async publish(
    server: RunningKeyServer,
    content: string,
    shop?: Shop,
  ): Promise<{ made: InitResult; protection: ProtectSummary }> {
    const passphrase = toBase64url(randomBytes(16));
    const places = { out: this.out, content, keyServer: server.url, reading: server.readingUrl };
    const { plans = [], ...site } = this.#settings;
    const settings = { ...site, ...places, plans: sellAt(plans, shop?.stripe) };
    const url = `http://${this.site}`;
    const made = await initWorkspace({ directory: this.#directory, url, passphrase, settings });
    const { token } = await createToken(server.state, 'publisher', 1);
    this.#publisher = { made, passphrase, token };
    return { made, protection: await this.publishAgain() };
  }

  /** Does what `wispr publish` does where the output itself is served: whatever changed in the site, readers find it at their next look. */
  async publishAgain(): Promise<ProtectSummary> {
    if (this.#publisher === undefined) throw new Error('the site was not published yet');
    const { made, passphrase, token } = this.#publisher;
    const places = await locateTargets({ configurationFile: made.workspace.configuration });
    const { protection } = await publishFromWorkspace({ places: { ...places, token }, passphrase, protect: {} });
    if (protection === undefined) throw new Error('it was protected first');
    return protection;
  }

  async invite(name: string, server: RunningKeyServer): Promise<string> {
    const root = (await readProviderRow(server.state.database))?.root;
    return invitationLink(await inviteSubscriber(server.state, { name }), server.origins.reading, root);
  }

  /**
   * Invites a subscriber, starts their Reader and connects it; also gives them a password for the reading site.
   *
   * @param special - what is special about this Reader
   */
  async addReader(
    name: string,
    server: RunningKeyServer,
    cache: SharedCache | undefined,
    special: Pick<ProxyOptions, 'cacheBytes' | 'parentProxy'> = {},
  ): Promise<Person> {
    const directory = join(this.#directory, name);
    // Readers reach nothing on their own machine unless they permit it, and here everything is on it.
    const allowLocal = [parseAllowLocal('127.0.0.1')];
    const own = { dataDirectory: directory, keyFile: join(directory, 'reader.key') };
    const parent = cache?.kind === 'forward' ? { parentProxy: cache.url } : {};
    const proxy = await startProxy({ ...own, port: 0, allowLocal, ...parent, ...special });
    await this.#ending(proxy, () => proxy.close());
    // Certificates speak for no site on this machine, so the person says by hand that it is the publisher's.
    await bindSite({ ...own, link: await this.invite(name, server), trustSites: [this.site] });
    const password = toBase64url(randomBytes(9));
    const { code } = await inviteSubscriber(server.state, { name });
    await joinWithPassword(server.state, normaliseCode(code) ?? '', { password, address: name });
    return { name, proxy, password };
  }

  /** Ends everything, newest first, and removes what was written. */
  async close(): Promise<void> {
    this.#closed = true;
    for (let end = this.#endings.pop(); end !== undefined; end = this.#endings.pop())
      await end().catch(() => undefined);
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Ends at once what was still starting when everything was ended. */
  async #ending<Thing>(thing: Thing, end: () => Promise<void>): Promise<Thing> {
    if (this.#closed) {
      await end();
      throw new Error('stopped while it was starting');
    }
    this.#endings.push(end);
    return thing;
  }
}
