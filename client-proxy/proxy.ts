/** The personal proxy: one port on loopback, for programs that use a proxy and for browsers that do not. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import type { CodedError } from '../core/errors.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { BoundSites } from './bound-sites.ts';
import type { CacheStatus, ObjectCache } from './cache/object-cache.ts';
import { openCache } from './cache/open-cache.ts';
import type { AllowLocal } from './content/allow-local.ts';
import type { ConnectTo } from './content/connect-to.ts';
import { HostHealth, type HostReport } from './content/host-health.ts';
import { Upstream } from './content/upstream.ts';
import { BoundTunnels } from './doors/bound-tunnels.ts';
import { attachDoors, SERVER_OPTIONS } from './doors/server.ts';
import { ReaderError } from './errors.ts';
import { openControl } from './identity/control-socket.ts';
import { ReaderLock } from './identity/lock.ts';
import { LoopbackServer } from './listening/loopback-server.ts';
import { ownConnections } from './listening/own-connections.ts';
import { type SiteStatus, siteStatuses } from './status/status.ts';
import { type StorageOptions, storeOptions } from './store/locations.ts';
import type { KeyPlace } from './store/protection.ts';
import { ReaderStore } from './store/store.ts';

export const DEFAULT_PORT = 8001;
const HOST = '127.0.0.1';

const ignore = () => undefined;

export interface ProxyOptions extends StorageOptions {
  /** 0: any free one. 8001 if left out. */
  readonly port?: number;
  /** Starts locked where a person has to bring the key of the database and nobody can be asked, instead of failing. */
  readonly mayStartLocked?: boolean;
  readonly connectTo?: readonly ConnectTo[];
  /** What may be reached on this computer and in its own network, which nothing may without. */
  readonly allowLocal?: readonly AllowLocal[];
  /** URL of an HTTP proxy through which all plain HTTP goes. */
  readonly parentProxy?: string;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string;
  /** Serves every user of this machine, not only the one who runs it. */
  readonly otherUsers?: boolean;
  /** Seconds since 1970; what publications are judged by. The machine's clock if left out. */
  readonly now?: () => number;
  /** The folder of what was read, as ciphertext. `cache` in the data directory, where one is given; else the system's place for caches. */
  readonly cacheDirectory?: string;
  /** The most that it may hold; 0: nothing is kept. 2 GiB if left out. */
  readonly cacheBytes?: number;
  /** Told of a content host that was late, was not there, or gave bytes that nobody signed: for a log. */
  readonly onHostFault?: (report: HostReport) => void;
  /** Told of every refusal: for a log. `address` is host and path, never the query. */
  readonly onRefusal?: (error: CodedError, address: string) => void;
}

export interface RunningProxy {
  /** For programs: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** The connected sites, and where a browser opens them. */
  sites(): Promise<{ site: string; gateway: string }[]>;
  /** `undefined` for a site that is not connected. */
  gatewayUrl(site: string): Promise<string | undefined>;
  /** How often a connected site was asked for by a tunnel, past the checks, since the start. */
  boundTunnels(site: string): number;
  /**
   * Looks for newer publications of all connected sites now, instead of when it is due.
   *
   * @throws whatever the first one that failed met
   */
  check(): Promise<void>;
  /** Locks and unlocks it. */
  readonly lock: ReaderLock;
  /** Where the key of its database is; and whether that was decided just now. */
  readonly keysIn: { readonly place: KeyPlace['kind'] | undefined; readonly isFresh: boolean };
  /** What was put right at the start, in sentences for the reader. */
  readonly notices: readonly string[];
  /** Content hosts that something is wrong with at the moment; others are asked first. */
  contentHosts(): HostReport[];
  /** How much of what was read is kept. */
  cacheStatus(): CacheStatus;
  /** The connected sites, and how their publications are. */
  siteStatuses(): Promise<SiteStatus[]>;
  /** Stops listening, lets what is under way end for a moment, and closes everything. */
  close(): Promise<void>;
}

/** The proxy without its port: answers whatever connection it is given. */
export interface OpenReader {
  readonly server: Server;
  /** A connection of this very process, which the doors answer like one that came to the port. */
  connect(): Duplex;
  readonly sites: BoundSites;
  readonly health: HostHealth;
  readonly cache: ObjectCache;
  readonly tunnels: BoundTunnels;
  readonly store: ReaderStore;
  /** Lets what is under way end for a moment, and closes everything. */
  close(): Promise<void>;
}

/**
 * Opens everything that answering requests needs, and listens nowhere.
 *
 * @param server - what requests come to
 *
 * @throws ReaderError `parent-proxy-malformed`, and those of the store
 */
export async function openReader(
  options: ProxyOptions = {},
  server: Server = createServer(SERVER_OPTIONS),
): Promise<OpenReader> {
  let port: number | undefined; // asked for at every request, so not of the socket
  server.once('listening', () => {
    port = (server.address() as AddressInfo).port;
  });
  const ownPort = () => port;
  const upstream = new Upstream({ ...options, ownPort });
  const store = await ReaderStore.open({ ...storeOptions(options), mayWait: options.mayStartLocked });
  const closeAll = async () => {
    await upstream.close();
    store.close();
  };
  try {
    const { now = nowInSeconds } = options;
    const health = new HostHealth(options.onHostFault);
    const cache = openCache(options);
    const sites = new BoundSites(store, upstream, health, now);
    await sites.refresh();
    const refused = options.onRefusal ?? ignore;
    const access = { upstream, health, cache };
    const tunnels = new BoundTunnels(now);
    const stopServing = attachDoors(server, { sites, upstream, access, ownPort, now, refused, tunnels });
    const close = async () => {
      await stopServing();
      await cache.close();
      await closeAll();
    };
    return { server, connect: () => connectTo(server), sites, health, cache, tunnels, store, close };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/**
 * Starts the proxy. A binding that another process makes counts from the next request on.
 *
 * @throws ReaderError `port-taken`, `owner-unknown`, `parent-proxy-malformed`, and those of the store
 */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const { otherUsers = false, onRefusal: refused = ignore } = options;
  const server = new LoopbackServer(SERVER_OPTIONS, await ownConnections({ otherUsers, refused }));
  const reader = await openReader(options, server);
  try {
    await listen(server, options.port ?? DEFAULT_PORT);
    const lock = new ReaderLock(reader.store, reader.sites);
    const control = await openControl(storeOptions(options).directory, lock);
    const close = async () => {
      await control.close();
      await reader.close();
    };
    return describe({ ...reader, close }, server, lock);
  } catch (error) {
    await reader.close();
    throw error;
  }
}

function connectTo(server: Server): Duplex {
  const [client, door] = duplexPair();
  door.on('error', () => undefined); // told by what the client gets
  server.emit('connection', door);
  return client;
}

async function listen(server: LoopbackServer, port: number): Promise<void> {
  const failure = await server.open(port);
  if (failure) throw cannotListen(failure, port);
}

function cannotListen(cause: NodeJS.ErrnoException, port: number): ReaderError {
  const why = cause.code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be listened on: ${cause.message}`;
  return new ReaderError('port-taken', `port ${port} ${why}`, {
    cause,
    hint: 'is another wispr proxy running? stop it, or choose another port with --port',
  });
}

function describe(reader: OpenReader, server: LoopbackServer, lock: ReaderLock): RunningProxy {
  const { sites, health, cache, tunnels, store, close } = reader;
  const { port } = server.address() as AddressInfo;
  const list = async () => {
    await sites.refresh();
    return sites.all().map(({ site, label }) => ({ site, gateway: `http://${label}.localhost:${port}/` }));
  };
  let closing: Promise<void> | undefined;
  return {
    url: `http://${HOST}:${port}`,
    port,
    sites: list,
    gatewayUrl: async (wanted) => (await list()).find(({ site }) => site === wanted)?.gateway,
    boundTunnels: (site) => tunnels.of(site)?.count ?? 0,
    check: async () => {
      await sites.refresh();
      await Promise.all(sites.all().map(({ publication }) => publication.checkAnew()));
      await sites.refresh();
    },
    lock,
    keysIn: { place: store.keyPlace, isFresh: store.isFresh },
    notices: store.notices,
    contentHosts: () => health.reports(),
    cacheStatus: () => cache.status(),
    siteStatuses: () => siteStatuses(sites, port),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
