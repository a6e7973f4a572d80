/** The personal proxy: one port on loopback, for programs that use a proxy and for browsers that do not. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CodedError } from '../core/errors.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { BoundSites } from './bound-sites.ts';
import type { ConnectTo } from './content/connect-to.ts';
import { Upstream } from './content/upstream.ts';
import { Router, type RouterOptions } from './doors/router.ts';
import { openTunnel } from './doors/tunnel.ts';
import { ReaderError } from './errors.ts';
import { openControl } from './identity/control-socket.ts';
import { ReaderLock } from './identity/lock.ts';
import { LIMITS } from './limits.ts';
import { type StorageOptions, storeOptions } from './store/locations.ts';
import type { KeyPlace } from './store/protection.ts';
import { ReaderStore } from './store/store.ts';

export const DEFAULT_PORT = 8001;
const HOST = '127.0.0.1';

export interface ProxyOptions extends StorageOptions {
  /** 0: any free one. 8001 if left out. */
  readonly port?: number;
  /** Starts locked where a person has to bring the key of the database and nobody can be asked, instead of failing. */
  readonly mayStartLocked?: boolean;
  readonly connectTo?: readonly ConnectTo[];
  /** URL of an HTTP proxy through which all plain HTTP goes. */
  readonly parentProxy?: string;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string;
  /** Seconds since 1970; what publications are judged by. The machine's clock if left out. */
  readonly now?: () => number;
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
  /** Stops listening, lets what is under way end for a moment, and closes everything. */
  close(): Promise<void>;
}

/**
 * Starts the proxy. A binding that another process makes counts from the next request on.
 *
 * @throws ReaderError `port-taken`, `parent-proxy-malformed`, and those of the store
 */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const server = createServer({
    maxHeaderSize: LIMITS.headerFields,
    headersTimeout: 60_000,
    requestTimeout: 0,
    keepAliveTimeout: 65_000,
  });
  let port: number | undefined; // asked for at every request, so not of the socket
  server.once('listening', () => {
    port = (server.address() as AddressInfo).port;
  });
  const ownPort = () => port;
  const { directory, ...keyOptions } = storeOptions(options);
  const upstream = new Upstream({ ...options, ownPort });
  const store = await ReaderStore.open({ directory, ...keyOptions, mayWait: options.mayStartLocked });
  try {
    const { now = nowInSeconds } = options;
    const sites = new BoundSites(store, upstream, now);
    await sites.refresh();
    const refused = options.onRefusal ?? (() => undefined);
    const close = attach(server, { sites, upstream, ownPort, now, refused });
    await listen(server, options.port ?? DEFAULT_PORT);
    const lock = new ReaderLock(store, sites);
    const control = await openControl(directory, lock).catch(async (error: unknown) => {
      await close();
      throw error;
    });
    const end = async () => {
      await control.close();
      await close();
      await upstream.close();
      store.close();
    };
    const keysIn = { place: store.keyPlace, isFresh: store.isFresh };
    return { ...describe(server, sites, end), lock, keysIn, notices: store.notices };
  } catch (error) {
    await upstream.close();
    store.close();
    throw error;
  }
}

/** Puts the doors on the server; returns what closes them. */
function attach(server: Server, options: RouterOptions): () => Promise<void> {
  const router = new Router(options);
  const tunnels = new Set<Duplex>();
  const opened = (socket: Duplex) => {
    tunnels.add(socket);
    socket.once('close', () => tunnels.delete(socket));
  };
  server.on('request', router.handle);
  server.on('connect', (request, socket, head) => {
    openTunnel({ ...options, opened }, request, socket, head);
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    else socket.destroy();
  });
  return () => stop(server, tunnels);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, port)));
    server.listen(port, HOST, resolve);
  });
}

function cannotListen(cause: NodeJS.ErrnoException, port: number): ReaderError {
  const why = cause.code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be listened on: ${cause.message}`;
  return new ReaderError('port-taken', `port ${port} ${why}`, {
    cause,
    hint: 'is another wispr proxy running? stop it, or choose another port with --port',
  });
}

function describe(
  server: Server,
  sites: BoundSites,
  close: () => Promise<void>,
): Omit<RunningProxy, 'lock' | 'keysIn' | 'notices'> {
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
    check: async () => {
      await sites.refresh();
      await Promise.all(sites.all().map(({ publication }) => publication.checkAnew()));
      await sites.refresh();
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function stop(server: Server, tunnels: ReadonlySet<Duplex>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), LIMITS.stopTimeout);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    for (const socket of tunnels) socket.destroy();
    server.closeIdleConnections();
  });
}
