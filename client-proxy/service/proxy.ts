/** The personal proxy: one port on loopback, for programs that use a proxy and for browsers that do not. */
import type { AddressInfo } from 'node:net';
import { nowInSeconds } from '../../node-support/clock.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { ReaderError } from '../errors.ts';
import { gatewayUrl, HOST } from '../gateway/label.ts';
import { limitsOf } from '../limits.ts';
import { inReader } from '../running/in-reader.ts';
import { type ReaderStatus, siteStatuses } from '../running/status.ts';
import { ownConnections } from '../server/connection-owner.ts';
import { listen } from '../server/listen.ts';
import { LoopbackServer } from '../server/loopback-server.ts';
import { type OpenReader, openReader, type ProxyOptions } from '../server/open-reader.ts';
import { readerServerOptions } from '../server/server.ts';
import { lookAhead } from '../site/look-ahead.ts';
import { storeOptions } from '../store/locations.ts';
import type { KeyLocation } from '../store/protection.ts';
import { serveCommands } from './serve-commands.ts';

const ignore = () => undefined;

/** A Reader that listens. `health` has the content hosts that something is wrong with; `tunnels`, what passed by the checks. */
export interface RunningProxy extends Pick<OpenReader, 'cache' | 'health' | 'lock' | 'tunnels'> {
  /** URL for programs: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  readonly page: string;
  /** The usual port, where another program has it, and {@link port} was chosen and remembered in its place. */
  readonly takenPort: number | undefined;
  sites(): Promise<{ site: string; gateway: string }[]>;
  gatewayUrl(site: string): Promise<string | undefined>;
  /** Looks for newer publications of all connected sites now. @throws whatever the first one that failed met */
  check(): Promise<void>;
  /** Asks for what the first page of each connected site will need. Never throws. */
  lookAhead(): Promise<void>;
  /** Place of the key of its database, and whether it was decided just now. */
  readonly keysIn: { readonly place: KeyLocation['kind'] | undefined; readonly isFresh: boolean };
  /** Sentences for the reader about what was put right at the start, and what could not be. */
  readonly notices: readonly string[];
  status(): Promise<ReaderStatus>;
  /** Stops listening, lets what is under way end for a moment, and closes everything. */
  close(): Promise<void>;
}

/** Starts the proxy, which alone has the database then. @throws ReaderError `reader-running`, `listen-failed` and more */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const { otherUsers = false, onRefusal: refused = ignore } = options;
  const { directory, limits } = storeOptions(options);
  const admit = await ownConnections({ otherUsers, refused });
  const server = new LoopbackServer(readerServerOptions(limitsOf(options)), admit);
  const open = () => openReader(options, server);
  const reader = await inReader<OpenReader | ReaderStatus>({ directory, limits, name: 'status' }, open);
  if ('process' in reader) throw alreadyRunning(reader);
  let closeAll = () => reader.close();
  try {
    const { store, settings } = reader;
    const takenPort = await listen(server, options.port, settings);
    const url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
    const status = statusOf(reader, url);
    const commands = await serveCommands({ ...reader, url, directory, status });
    closeAll = () => commands.close().finally(() => reader.close());
    const notices = [...store.notices, ...(commands.problem === undefined ? [] : [commands.problem])];
    return { ...describe({ ...reader, close: closeAll }, url), takenPort, notices, status };
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

function describe(reader: OpenReader, url: string): Omit<RunningProxy, 'takenPort' | 'status' | 'notices'> {
  const { sites, health, cache, tunnels, store, lock, now, close } = reader;
  const port = Number(new URL(url).port);
  const list = async () => {
    await sites.refresh();
    return sites.all().map(({ site, label }) => ({ site, gateway: gatewayUrl(label, port) }));
  };
  let closing: Promise<void> | undefined;
  return {
    url,
    port,
    page: `http://localhost:${port}/`,
    sites: list,
    gatewayUrl: async (wanted) => (await list()).find(({ site }) => site === wanted)?.gateway,
    check: async () => {
      await sites.refresh();
      await Promise.all(sites.all().map(({ publication }) => publication.recheck()));
      await sites.refresh();
    },
    lookAhead: () => lookAhead(sites, now),
    cache,
    health,
    lock,
    tunnels,
    keysIn: { place: store.keyLocation?.kind, isFresh: store.isFresh },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Describes a Reader that starts now, whenever it is asked. @param url - of the proxy */
function statusOf({ sites, cache, lock }: OpenReader, url: string): () => Promise<ReaderStatus> {
  const known = { version: packageJson.version, process: process.pid, started: nowInSeconds(), url };
  const port = Number(new URL(url).port);
  return async () => ({
    ...known,
    sites: await siteStatuses(sites, port),
    cache: cache.status(),
    locked: lock.isLocked && !lock.isEmpty,
    ...(lock.keysIn !== undefined && { keysIn: lock.keysIn }),
  });
}
