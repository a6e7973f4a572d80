/** Parts that answering requests needs, without a port: what `wispr proxy` listens with, and `wispr fetch` asks in its own process. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import type { CodedError } from '../../core/errors.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import type { AllowLocal } from '../../node-support/addresses.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { createServer } from '../../node-support/http.ts';
import type { ResolveName } from '../../node-support/name-servers.ts';
import { ObjectCache } from '../documents/cache/object-cache.ts';
import { ChangedDeliveries } from '../documents/changed-deliveries.ts';
import { BlockOpener } from '../documents/opening/block-opener.ts';
import type { ContentAccess } from '../documents/payload.ts';
import { gatewayUrl } from '../gateway/label.ts';
import { ReaderLock } from '../identity/lock.ts';
import { type Limits, limitsOf } from '../limits.ts';
import type { ConnectTo } from '../network/connect-to.ts';
import { Upstream } from '../network/upstream.ts';
import { BoundTunnels } from '../pages/noticed.ts';
import { Pages } from '../pages/pages.ts';
import { BoundSites } from '../site/bound-sites.ts';
import { HostHealth, type HostReport } from '../site/host-health.ts';
import { cacheDirectoryFor, type StorageOptions, storeOptions } from '../store/locations.ts';
import { chooseSettings, type SettingName, SettingsKeeper, settingText } from '../store/settings.ts';
import { ReaderStore } from '../store/store.ts';
import { attachRouter, readerServerOptions } from './server.ts';

const ignore = () => undefined;

export interface ProxyOptions extends StorageOptions {
  /** 0: any free one. If left out: that of the reader's settings or 8001, and, where another program has it, a free one from now on. */
  readonly port?: number;
  /** Starts locked where a person has to bring the key of the database and there is no terminal to ask on, instead of failing. */
  readonly mayStartLocked?: boolean;
  readonly connectTo?: readonly ConnectTo[];
  /** Addresses that may be reached on this computer and in its own network: none if left out. */
  readonly allowLocal?: readonly AllowLocal[];
  /** Hosts that plain HTTP goes to over HTTPCrypt, and in no other way; those of the reader's settings if left out. */
  readonly httpcryptTo?: readonly HttpcryptEndpoint[];
  /** URL of an HTTP proxy through which all plain HTTP goes; that of the reader's settings if left out. */
  readonly parentProxy?: string;
  /** Hosts that need not show to whom they belong when they are connected on the Reader's page: for development. */
  readonly trustSites?: readonly string[];
  /** DNS servers that are asked for proofs; the system's if left out. */
  readonly dnsServers?: readonly string[];
  /** Finds addresses of hosts; as the system does if left out. */
  readonly resolve?: ResolveName;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string;
  /** Serves every user of this machine, not only the one who runs it. */
  readonly otherUsers?: boolean;
  /** Seconds since 1970; what publications are judged by. The machine's clock if left out. */
  readonly now?: () => number;
  /** The folder of what was read, as ciphertext. `cache` in the data directory, where one is given; else the system's place for caches. */
  readonly cacheDirectory?: string;
  /** The most that it may hold; 0: nothing is kept. That of the reader's settings if left out. */
  readonly cacheBytes?: number;
  /** Told of a content host that was late, was not there, or gave unsigned bytes: for a log. */
  readonly onHostFault?: (report: HostReport) => void;
  /** Told of every refusal: for a log. `address` is host and path, never the query. */
  readonly onRefusal?: (error: CodedError, address: string) => void;
}

export interface InProcessConnector {
  connect(): Duplex;
  close(): Promise<void>;
}

/** The proxy without its port: answers whatever connection it is given. */
export interface OpenReader extends AsyncDisposable {
  readonly server: Server;
  /** Doors for connections of this very process, which are answered like those that come to the port. */
  openConnector(refused: (error: CodedError) => void): InProcessConnector;
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly access: ContentAccess;
  /** Seconds since 1970. */
  readonly now: () => number;
  readonly health: HostHealth;
  readonly cache: ObjectCache;
  readonly tunnels: BoundTunnels;
  readonly store: ReaderStore;
  readonly settings: SettingsKeeper;
  readonly lock: ReaderLock;
  readonly limits: Limits;
  close(): Promise<void>;
}

/** Opens all that answering requests needs, and listens nowhere. @throws ReaderError of parent proxy and store */
export async function openReader(
  options: ProxyOptions = {},
  server: Server = createServer(readerServerOptions(limitsOf(options))),
): Promise<OpenReader> {
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await ReaderStore.open({ ...storeOptions(options), mayWait: options.mayStartLocked }));
  let port: number | undefined; // asked for at every request, so not of the socket
  server.once('listening', () => {
    port = (server.address() as AddressInfo).port;
  });
  const ownPort = () => port;
  const settings = new SettingsKeeper(store.preferences);
  const { now = nowInSeconds, onRefusal: refused = ignore } = options;
  const limits = limitsOf(options);
  const chosen = { ...options, ...chooseSettings(options, store.preferences), limits };
  const upstream = opened.use(new Upstream({ ...chosen, ownPort }));
  const opener = new BlockOpener();
  opened.defer(() => opener.close());
  const health = new HostHealth(options.onHostFault);
  const cache = new ObjectCache(chosen.cacheDirectory ?? cacheDirectoryFor(chosen.dataDirectory), chosen.cacheBytes);
  opened.defer(() => cache.close());
  const sites = new BoundSites(store, upstream, health, now);
  await sites.refresh();
  const tunnels = new BoundTunnels(now);
  const lock = new ReaderLock(store, sites, opener.memory);
  const access = { upstream, health, cache, opener, deliveries: new ChangedDeliveries(limits) };
  const common = { store, sites, lock, upstream, access, settings, now, tunnels, limits };
  const fixed = fixedSettings(options);
  const urlOf = (label: string) => gatewayUrl(label, port);
  const pages = new Pages({ ...common, cache, proofs: options, port: ownPort, fixed, urlOf });
  const shared = { ...common, pages, ownPort };
  const stopServing = attachRouter(server, { ...shared, refused });
  const openConnector = (onRefusal: (error: CodedError) => void): InProcessConnector => {
    const own = createServer(readerServerOptions(limits));
    const close = attachRouter(own, { ...shared, refused: onRefusal });
    return { connect: () => connectTo(own), close };
  };
  const closing = opened.move();
  const close = () => stopServing().then(() => closing.disposeAsync());
  return { ...common, server, openConnector, health, cache, close, [Symbol.asyncDispose]: close };
}

function connectTo(server: Server): Duplex {
  const [client, peer] = duplexPair();
  peer.on('error', () => undefined); // told by what the client gets
  server.emit('connection', peer);
  return client;
}

function fixedSettings(options: ProxyOptions): Map<SettingName, string> {
  const { port, parentProxy, allowLocal = [], httpcryptTo = [], cacheBytes } = options;
  const fixed = new Map<SettingName, string>();
  if (port !== undefined) fixed.set('port', settingText('port', port));
  if (allowLocal.length > 0) fixed.set('allowLocal', settingText('allowLocal', allowLocal));
  if (httpcryptTo.length > 0) fixed.set('httpcryptTo', settingText('httpcryptTo', httpcryptTo));
  if (cacheBytes !== undefined) fixed.set('cacheBytes', settingText('cacheBytes', cacheBytes));
  if (parentProxy !== undefined) fixed.set('parentProxy', URL.parse(parentProxy)?.origin ?? ''); // leaves out its password
  return fixed;
}
