/** The personal proxy: one port on loopback, for programs that use a proxy and for browsers that do not. */
import type { AddressInfo } from 'node:net';
import type { CacheStatus } from '../documents/cache/object-cache.ts';
import { ReaderError } from '../errors.ts';
import { gatewayUrl, HOST } from '../gateway/label.ts';
import type { ReaderLock } from '../identity/lock.ts';
import { inReader } from '../running/in-reader.ts';
import { type ReaderStatus, statusOf } from '../running/status.ts';
import { ownConnections } from '../server/connection-owner.ts';
import { listen } from '../server/listen.ts';
import { LoopbackServer } from '../server/loopback-server.ts';
import { type OpenReader, openReader, type ProxyOptions } from '../server/open-reader.ts';
import { SERVER_OPTIONS } from '../server/server.ts';
import type { HostReport } from '../site/host-health.ts';
import { storeOptions } from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import { serveCommands } from './serve-commands.ts';

const ignore = () => undefined;

export interface RunningProxy {
  /** For programs: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** The reader's own page, for a browser. */
  readonly page: string;
  /** The usual port, where another program has it, and {@link port} was chosen and remembered in its place. */
  readonly takenPort: number | undefined;
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
  /** What was put right at the start, and what could not be, in sentences for the reader. */
  readonly notices: readonly string[];
  /** Content hosts that something is wrong with at the moment; others are asked first. */
  contentHosts(): HostReport[];
  /** How much of what was read is kept. */
  cacheStatus(): CacheStatus;
  /** What `wispr proxy status` tells. */
  status(): Promise<ReaderStatus>;
  /** Stops listening, lets what is under way end for a moment, and closes everything. */
  close(): Promise<void>;
}

/**
 * Starts the proxy. From now on it alone has the database; commands reach it through its socket.
 *
 * @throws ReaderError `reader-running`, `listen-failed`, `other-user`, `parent-proxy-malformed`, and those of the store
 */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const { otherUsers = false, onRefusal: refused = ignore } = options;
  const { directory } = storeOptions(options);
  const server = new LoopbackServer(SERVER_OPTIONS, await ownConnections({ otherUsers, refused }));
  const open = () => openReader(options, server);
  const reader = await inReader<OpenReader | ReaderStatus>({ directory, name: 'status' }, open);
  if ('process' in reader) throw alreadyRunning(reader);
  let closeAll = () => reader.close();
  try {
    const { store, settings } = reader;
    const takenPort = await listen(server, options.port, settings);
    const url = urlOf(server);
    const status = statusOf(reader, url);
    const commands = await serveCommands({ ...reader, url, directory, status });
    closeAll = () => commands.close().finally(() => reader.close());
    const notices = [...store.notices, ...(commands.problem === undefined ? [] : [commands.problem])];
    return { ...describe({ ...reader, close: closeAll }, server, takenPort), notices, status };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function alreadyRunning({ url, process }: ReaderStatus): ReaderError {
  return new ReaderError('reader-running', `a Reader runs already, on ${url}, process ${process}`, {
    fields: { url, process },
  });
}

function describe(
  reader: OpenReader,
  server: LoopbackServer,
  takenPort: number | undefined,
): Omit<RunningProxy, 'status' | 'notices'> {
  const { sites, health, cache, tunnels, store, lock, close } = reader;
  const { port } = server.address() as AddressInfo;
  const list = async () => {
    await sites.refresh();
    return sites.all().map(({ site, label }) => ({ site, gateway: gatewayUrl(label, port) }));
  };
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(server),
    port,
    page: `http://localhost:${port}/`,
    takenPort,
    sites: list,
    gatewayUrl: async (wanted) => (await list()).find(({ site }) => site === wanted)?.gateway,
    boundTunnels: (site) => tunnels.of(site)?.count ?? 0,
    check: async () => {
      await sites.refresh();
      await Promise.all(sites.all().map(({ publication }) => publication.checkAnew()));
      await sites.refresh();
    },
    lock,
    keysIn: { place: store.keyPlace?.kind, isFresh: store.isFresh },
    contentHosts: () => health.reports(),
    cacheStatus: () => cache.status(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function urlOf(server: LoopbackServer): string {
  return `http://${HOST}:${(server.address() as AddressInfo).port}`;
}
