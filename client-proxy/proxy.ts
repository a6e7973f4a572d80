/** The personal proxy: one port on loopback, for programs that use a proxy and for browsers that do not. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CodedError } from '../core/errors.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { BoundSites } from './bound-sites.ts';
import type { AllowLocal } from './content/allow-local.ts';
import type { ConnectTo } from './content/connect-to.ts';
import { Upstream } from './content/upstream.ts';
import { BoundTunnels } from './doors/bound-tunnels.ts';
import { openDoors } from './doors/server.ts';
import { ReaderError } from './errors.ts';
import { defaultDataDirectory, defaultKeyFile } from './store/locations.ts';
import type { Passphrase } from './store/storage-key.ts';
import { ReaderStore } from './store/store.ts';

export const DEFAULT_PORT = 8001;
const HOST = '127.0.0.1';

export interface ProxyOptions {
  /** 0: any free one. 8001 if left out. */
  readonly port?: number;
  readonly dataDirectory?: string;
  readonly keyFile?: string;
  /** Protects a fresh database, and opens one that is protected. */
  readonly passphrase?: Passphrase;
  /** Asks for the passphrase of a protected database, where none was given. */
  readonly askPassphrase?: Passphrase;
  readonly connectTo?: readonly ConnectTo[];
  /** What may be reached on this computer and in its own network, which nothing may without. */
  readonly allowLocal?: readonly AllowLocal[];
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
  /** How often a connected site was asked for by a tunnel, past the checks, since the start. */
  boundTunnels(site: string): number;
  /**
   * Looks for newer publications of all connected sites now, instead of when it is due.
   *
   * @throws whatever the first one that failed met
   */
  check(): Promise<void>;
  /** Stops listening, lets what is under way end for a moment, and closes everything. */
  close(): Promise<void>;
}

/**
 * Starts the proxy. A binding that another process makes counts from the next request on.
 *
 * @throws ReaderError `port-taken`, `parent-proxy-malformed`, and those of the store
 */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const { dataDirectory = defaultDataDirectory(), keyFile = defaultKeyFile(), passphrase, askPassphrase } = options;
  let port: number | undefined; // asked for at every request, so not of the socket
  const ownPort = () => port;
  const upstream = new Upstream({ ...options, ownPort });
  const store = await ReaderStore.open({ directory: dataDirectory, keyFile, passphrase, askPassphrase });
  try {
    const { now = nowInSeconds } = options;
    const sites = new BoundSites(store, upstream, now);
    await sites.refresh();
    const refused = options.onRefusal ?? (() => undefined);
    const tunnels = new BoundTunnels(now);
    const { server, close } = openDoors({ sites, upstream, ownPort, now, refused, tunnels });
    port = await listen(server, options.port ?? DEFAULT_PORT);
    return describe(port, { sites, tunnels }, async () => {
      await close();
      await upstream.close();
      store.close();
    });
  } catch (error) {
    await upstream.close();
    store.close();
    throw error;
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, port)));
    server.listen(port, HOST, () => resolve((server.address() as AddressInfo).port));
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
  port: number,
  { sites, tunnels }: { sites: BoundSites; tunnels: BoundTunnels },
  close: () => Promise<void>,
): RunningProxy {
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
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
