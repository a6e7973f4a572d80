/** Decides what a request is for: forward proxy, gateway, or the Reader's own page. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { equalBytes } from '../../core/encoding/bytes.ts';
import type { CodedError } from '../../core/errors.ts';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { hasBody, meetExpectation } from '../../node-support/http-requests.ts';
import { asksForNewest, confirmedAt } from '../../reading/confirmation.ts';
import { ReadingError } from '../../reading/errors.ts';
import { isWindow, senderOf } from '../../reading/navigation.ts';
import type { ProxyMode } from '../documents/document-headers.ts';
import type { DeliveryAccess } from '../documents/send-document.ts';
import { ReaderError } from '../errors.ts';
import { gatewayUrl, labelOf } from '../gateway/label.ts';
import { GatewayLinks } from '../gateway/links.ts';
import { PROXY_FILE_PATH, serveProxyFile } from '../gateway/proxy-file.ts';
import { isClientGone } from '../network/failures.ts';
import {
  type AbsoluteTarget,
  type Authority,
  originOf,
  parseAbsoluteTarget,
  parseAuthority,
} from '../network/request-target.ts';
import type { Upstream } from '../network/upstream.ts';
import { refusalLookOf } from '../pages/look.ts';
import type { Pages } from '../pages/pages.ts';
import { publicLinkOf, type RefusedRequest, refuse } from '../pages/refusal.ts';
import type { BoundSite, BoundSites } from '../site/bound-sites.ts';
import { askForKey } from '../site/look-ahead.ts';
import type { SettingsKeeper } from '../store/settings.ts';
import { checkRequest, isLooping } from './messages.ts';
import { passByHttpcrypt } from './pass-httpcrypt.ts';
import { answerAsLast, asksForUpgrade, forwardsLeft } from './pass-request.ts';
import { passThrough } from './pass-through.ts';
import { type Past, pastOf } from './past.ts';
import { serveSite } from './site.ts';
import { responseOn } from './tunnel.ts';

export interface RouterOptions {
  readonly pages: Pages;
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly settings: SettingsKeeper;
  readonly access: DeliveryAccess;
  readonly ownPort: () => number | undefined;
  /** Seconds since 1970. */
  readonly now: () => number;
  /** Called for every refusal; `address` is host and path, without the query. */
  readonly refused: (error: CodedError, address: string) => void;
}

/** A request with what is known about it so far, for the page if it is refused. */
type Call = { -readonly [Name in keyof RefusedRequest]: RefusedRequest[Name] };

interface CurrentSite {
  readonly bound: BoundSite;
  readonly description: SiteDescription;
  readonly freshness: Freshness;
  readonly past: Past | undefined;
}

export class Router {
  readonly #options: RouterOptions;
  /** Links by the site as it was read: read anew, its publisher may have others. */
  readonly #links = new WeakMap<BoundSite, GatewayLinks>();

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /** Answers one request. Never throws: an error becomes a page, or a transfer that is visibly cut. */
  readonly handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call: Call = { request, response };
    try {
      checkRequest(request);
      const { sites, upstream } = this.#options;
      upstream.browserShowed(request.headers);
      await sites.refresh();
      await this.#route(call);
    } catch (error) {
      this.#refuse(error, call);
    }
  };

  /** Tells whether a request may switch to another protocol: only one that passes through. On others, `Upgrade` is ignored. */
  mayUpgrade(request: IncomingMessage): boolean {
    const target = asksForUpgrade(request) ? parseAbsoluteTarget(request.url ?? '') : undefined;
    const { sites, upstream } = this.#options;
    return (
      target !== undefined && !this.#isOwn(target) && !sites.has(target.host) && !upstream.channelTo(originOf(target))
    );
  }

  /** Answers a request of that kind. @returns the connection to the host, if it switched */
  readonly upgrade = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<Duplex | undefined> => {
    const call: Call = { request, response: responseOn(client, request) };
    try {
      checkRequest(request);
      await this.#options.sites.refresh();
      const target = parseAbsoluteTarget(request.url ?? '');
      if (target === undefined || !this.mayUpgrade(request))
        throw new ReaderError('port-refused', 'the site was connected just now');
      call.address = addressOf(target);
      checkPassages(request);
      return await passThrough(this.#options.upstream, target, { ...call, switching: { client, head } });
    } catch (error) {
      this.#refuse(error, call);
      return undefined;
    }
  };

  /** Answers with a page for an error; where even that fails, ends this connection, not the program. */
  #refuse(error: unknown, call: Call): void {
    if (isClientGone(error)) return void call.response.destroy();
    // A message that could be read in two ways makes all that follows it on this connection doubtful.
    if (error instanceof ReaderError && error.code === 'bad-request') call.response.shouldKeepAlive = false;
    try {
      const ownPage = `http://localhost:${this.#options.ownPort()}/`;
      this.#options.refused(refuse(error, { ...call, ownPage }), call.address ?? '');
    } catch {
      call.response.destroy();
    }
  }

  async #route(call: Call): Promise<void> {
    const target = call.request.url ?? '';
    if (target === '*' && call.request.method === 'OPTIONS') return answerAsLast(call.request, call.response);
    if (target.startsWith('/')) return this.#own(call, parseAuthority(call.request.headers.host ?? '', 80), target);
    const absolute = parseAbsoluteTarget(target);
    if (absolute !== undefined) return this.#forward(call, absolute);
    throw new ReaderError('bad-request', 'the address is not a valid http: URL');
  }

  /** Absolute form: the URL says what is meant, whatever `Host` says (RFC 9112 section 3.2.2). */
  async #forward(call: Call, target: AbsoluteTarget): Promise<void> {
    if (this.#isOwn(target)) return this.#own(call, target, target.path, true);
    const { sites, pages, now } = this.#options;
    pages.noticed.browsers.record(call.request.headers['user-agent'] ?? '', now());
    call.address = addressOf(target);
    const bound = sites.find(target.host);
    if (bound === undefined) return this.#pass(call, target);
    // Cookies do not distinguish ports: an answer from another port could set them for the site.
    if (target.port !== 80)
      throw new ReaderError(
        'port-refused',
        `all of ${bound.site} comes from its publication, nothing from port ${target.port}`,
      );
    welcome(call, `http://${bound.site}`);
    return this.#serve(call, bound, target.path, 'proxy');
  }

  async #pass({ request, response }: Call, target: AbsoluteTarget): Promise<void> {
    checkPassages(request);
    if (request.method === 'TRACE' && hasBody(request))
      throw new ReaderError('bad-request', 'a TRACE request has no body');
    if (forwardsLeft(request) === 0) return answerAsLast(request, response);
    const isAsterisk = request.method === 'OPTIONS' && /^http:\/\/[^/?]*$/i.test(request.url ?? '');
    const { upstream, pages, now } = this.#options;
    const seenProtected = () => target.port === 80 && pages.noticed.seen.record(target.host, now());
    const passing = { request, response, seenProtected };
    const asked = isAsterisk ? { ...target, path: '*' } : target;
    const channel = upstream.channelTo(originOf(target));
    if (channel) return passByHttpcrypt(channel, asked, passing, upstream.limits.passingSilence);
    return void (await passThrough(upstream, asked, passing));
  }

  /** Origin form, or absolute form with a name of our own: the gateway, or the Reader's page. A foreign name is DNS rebinding. */
  async #own(call: Call, host: Authority | undefined, path: string, throughProxy = false): Promise<void> {
    if (host === undefined || !this.#isOwn(host))
      throw new ReaderError('host-unknown', 'the address is not one of this program');
    const label = labelOf(host.host) ?? '';
    const site = this.#options.sites.nameOf(label);
    call.address = addressOf(site === undefined ? { ...host, path } : { host: site, port: 80, path });
    if (!meetExpectation(call.request, call.response)) return void call.response.writeHead(417).end();
    welcome(call, `http://${host.host}:${host.port}`);
    const { pages } = this.#options;
    if (pages.guard.isOwn(host)) {
      const { sites, ownPort, upstream } = this.#options;
      if (path === PROXY_FILE_PATH) {
        const hosts = new Set([...sites.names(), ...upstream.hostsOverHttpcrypt]);
        return serveProxyFile([...hosts], ownPort() ?? 0, call.request, call.response);
      }
      call.own = true;
      return pages.serve({ ...call, asked: host, target: path, throughProxy });
    }
    const bound = this.#options.sites.findLabel(label);
    if (bound === undefined) throw new ReaderError('host-unknown', `no connected site has the name ${label}`);
    return this.#serve(call, bound, path, 'gateway');
  }

  async #serve(call: Call, bound: BoundSite, target: string, mode: ProxyMode): Promise<void> {
    const { description } = bound;
    if (description === undefined)
      throw new ReaderError('site-withdrawn', `the descriptor does not name ${bound.site} any more`);
    call.address = `${bound.site}${target.split('?', 1)[0]}`; // the address that the reader knows, in either mode
    const look = () => refusalLookOf(bound.publisherName, bound.publication.publication.settings);
    call.look = look;
    call.publicLink = () => publicLinkOf(bound.site, description.content, target);
    // The reader stays in the mode of the request.
    if (target.split('?', 1)[0] !== '/')
      call.firstPage = () =>
        mode === 'gateway' ? gatewayUrl(bound.label, this.#options.ownPort()) : `http://${bound.site}/`;
    const { request, response } = call;
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new ReaderError('method-refused', `${request.method} is not possible here`);
    if (request.headers['service-worker'] !== undefined)
      throw new ReaderError('method-refused', 'a service worker would answer in place of checks, and outlive keys');
    if (documentPathOf(target) === undefined)
      throw new ReadingError('path-refused', 'the address has a spelling that no document has');
    const { freshness, ...current } = await this.#current(bound, target, asksForNewest(request.headers));
    call.confirmed = confirmedAt(freshness);
    const { access, now, settings, pages, upstream } = this.#options;
    if (current.past === undefined) {
      call.readingUrl = new URL(target, current.description.reading).href;
      const { redirect } = current.bound.publication.publication.settings;
      // A reader who has chosen HTTPCrypt leaves a censored line for nothing but a click.
      if (!upstream.httpcrypt && !description.content.some((origin) => upstream.channelTo(origin)))
        call.redirect = redirect;
    }
    const { notices, activity } = settings.current;
    const verified = activity ? pages.noticed.activity : undefined;
    const links = mode === 'gateway' ? this.#linksOf(current.bound) : undefined;
    const site = { ...current, freshness, mode, links, target, now, notices, verified, look: look() };
    await serveSite(access, { ...site, request, response });
  }

  /** The site with everything about it as it is now: its publication, and the descriptor that came with it. */
  async #current(asked: BoundSite, target: string, newest: boolean): Promise<CurrentSite> {
    const { site, publication } = asked;
    let past: Past | undefined;
    const beside = () => void askForKey(asked, target, this.#options.now());
    const freshness = await publication.current(newest, beside).catch(async (reason: unknown) => {
      past = await pastOf(publication, this.#options.now(), reason);
      return past.freshness;
    });
    const known = await this.#reread(site);
    const isRenewed = past === undefined && (await known.bound.descriptor.ensure());
    return { ...(isRenewed ? await this.#reread(site) : known), freshness, past };
  }

  async #reread(site: string): Promise<Omit<CurrentSite, 'freshness' | 'past'>> {
    await this.#options.sites.refresh();
    const bound = this.#options.sites.find(site);
    if (!bound?.description) throw new ReaderError('site-withdrawn', `the descriptor does not name ${site} any more`);
    return { bound, description: bound.description };
  }

  /**
   * The hosts whose links stay in the gateway: the site's own, and those of its publisher, who knows of them. Were others among them, a page could
   * find out by its own links what else the reader reads.
   */
  #linksOf(bound: BoundSite): GatewayLinks {
    const known = this.#links.get(bound);
    if (known) return known;
    const own = this.#options.sites.all().filter(({ publisherKey }) => equalBytes(publisherKey, bound.publisherKey));
    const originOf = (label: string) => gatewayUrl(label, this.#options.ownPort()).slice(0, -1);
    const links = new GatewayLinks(new Map(own.map(({ site, label }) => [site, originOf(label)])));
    this.#links.set(bound, links);
    return links;
  }

  #isOwn(host: Authority): boolean {
    const { pages, ownPort } = this.#options;
    return pages.guard.isOwn(host) || (host.port === ownPort() && labelOf(host.host) !== undefined);
  }
}

/** Formats an address for logs and pages: without the query, and with the port, without which it would lead elsewhere. */
function addressOf({ host, port, path }: AbsoluteTarget): string {
  return `${host}${port === 80 ? '' : `:${port}`}${path.split('?', 1)[0]}`;
}

function checkPassages({ headers }: IncomingMessage): void {
  if (isLooping(headers.via)) throw new ReaderError('loop', 'the request goes round in a circle');
}

/**
 * The Reader's own pages and connected sites, in every mode, serve a request of one of their own pages, one that the reader typed or followed
 * a link for, or one of a program that is no browser. Fetch Metadata: https://www.w3.org/TR/fetch-metadata/. Browsers send none to plain-http
 * origins; there, the headers of the answer keep other sites' pages out.
 *
 * @param ownOrigin - of the requested page
 * @throws ReaderError `cross-site`
 */
function welcome({ request: { headers } }: Call, ownOrigin: string): void {
  const sender = senderOf(headers);
  const isOwn = headers.origin === undefined || headers.origin === ownOrigin;
  if (sender === undefined ? isOwn : sender !== 'elsewhere' || isWindow(headers)) return;
  throw new ReaderError('cross-site', 'the request was made by a page of another site');
}
