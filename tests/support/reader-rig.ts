/** A reader with everything around them: publisher, content host, key server, a bound and running proxy, in a folder of its own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  bindSite,
  type ProxyOptions,
  parseAllowLocal,
  parseConnectTo,
  type RunningProxy,
  startProxy,
} from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS, type Limits } from '../../client-proxy/limits.ts';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import { type ContentHost, startContentHost } from './content-host.ts';
import { HostileKeyServer } from './hostile-key-server.ts';
import { startKeyServerOf, type TestKeyServer } from './key-server.ts';
import { TestPublisher } from './test-publisher.ts';

export interface ReaderRig<KeyServer = TestKeyServer> {
  readonly directory: string;
  readonly storage: ReturnType<typeof storageIn>;
  readonly publisher: TestPublisher;
  readonly host: ContentHost;
  readonly keyServer: KeyServer;
  /** Limits of this rig's Reader, which a test may change while it runs. */
  readonly limits: { -readonly [Name in keyof Limits]: number };
  proxy: RunningProxy;
  /** The data of the same device for one more Reader, as they were when the site was connected: a database has one owner. */
  anotherStorage(): Promise<ReturnType<typeof storageIn>>;
  /** Starts one more Reader on such data, which ends with the rig at the latest. */
  another(settings?: Partial<ProxyOptions>): Promise<RunningProxy>;
  readonly refusals: { code: string; address: string }[];
  /** Moves the reader's clock. */
  passTime(seconds: number): void;
  /** Stops the proxy, and starts it anew on the same data. */
  restart(settings?: Partial<ProxyOptions>): Promise<void>;
  /** Absolute URL of a path of the site. */
  url(path: string): string;
  close(): Promise<void>;
}

/** Tasks to be done when a test is over, last first. */
export class CleanUp {
  readonly #tasks: (() => Promise<unknown>)[] = [];

  add(task: () => Promise<unknown>): void {
    this.#tasks.push(task);
  }

  /** Closes the thing when the test is over. @returns the thing */
  use<T extends { close(): unknown }>(thing: T): T {
    this.add(async () => thing.close());
    return thing;
  }

  async run(): Promise<void> {
    for (const task of this.#tasks.splice(0).reverse()) await task();
  }
}

/** A folder that goes away again. */
export async function temporaryFolder(cleanUp: CleanUp): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'wispr-reader-'));
  cleanUp.add(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Returns where a reader keeps things; and what it may reach, for everything around it is on this machine. */
export function storageIn(directory: string) {
  return {
    dataDirectory: join(directory, 'data'),
    keyFile: join(directory, 'config', 'reader.key'),
    allowLocal: ON_THIS_MACHINE,
  };
}

/** `wispr proxy` on the reader's data as a process of its own. @param contentPort - of what stands for every site */
export function proxyCommand({ storage }: Pick<ReaderRig, 'storage'>, contentPort: number): string[] {
  const { dataDirectory, keyFile } = storage;
  const reach = ['--allow-local', '127.0.0.1', '--connect-to', `:80:127.0.0.1:${contentPort}`];
  return ['proxy', '--port', '0', '--data', dataDirectory, '--key-file', keyFile, ...reach];
}

/** File that is alone in its folder while no Reader runs. */
const DATABASE = 'reader.db';
/** Addresses that a reader has to permit where everything is on one machine. */
const ON_THIS_MACHINE = [parseAllowLocal('127.0.0.0/8')];

export interface RigOptions {
  readonly proxy?: Partial<ProxyOptions>;
  /** Returns what the descriptor says of the site, once it is known where the content host is. */
  readonly sites?: (host: ContentHost) => SiteDescription[];
  /** The sites that the reader confirms; the publisher's own if left out. */
  readonly confirm?: readonly string[];
  readonly keyServer?: Partial<KeyServerConfig>;
}

/** Uses the real key server. */
export function startReaderRig({ proxy, sites, confirm, keyServer }: RigOptions = {}): Promise<ReaderRig> {
  return startRigAround(
    (publisher, host) => startKeyServerOf(publisher, sites && { sites: sites(host) }, keyServer),
    proxy,
    confirm,
  );
}

/** Uses a key server that does what a test makes it do, and starts in a third of the time. */
export function startHostileReaderRig(
  proxy?: Partial<ProxyOptions>,
  { sites, confirm }: Pick<RigOptions, 'sites' | 'confirm'> = {},
): Promise<ReaderRig<HostileKeyServer>> {
  const start = async (publisher: TestPublisher, host: ContentHost) => {
    const keyServer = await HostileKeyServer.start(publisher);
    if (sites) keyServer.descriptor = publisher.descriptor(keyServer.origin, { sites: sites(host) });
    publisher.setDescriptor(keyServer.descriptor);
    return keyServer;
  };
  return startRigAround(start, proxy, confirm);
}

async function startRigAround<KeyServer extends Pick<TestKeyServer, 'invite' | 'close'>>(
  startKeyServer: (publisher: TestPublisher, host: ContentHost) => Promise<KeyServer>,
  settings: Partial<ProxyOptions> = {},
  confirm?: readonly string[],
): Promise<ReaderRig<KeyServer>> {
  const cleanUp = new CleanUp();
  const directory = await temporaryFolder(cleanUp);
  const limits = { ...DEFAULT_LIMITS };
  const storage = { ...storageIn(directory), limits };
  const publisher = await TestPublisher.create();
  const host = cleanUp.use(await startContentHost());
  const keyServer = cleanUp.use(await startKeyServer(publisher, host));
  await publisher.sign(host.files);
  const connectTo = [parseConnectTo(`:80:127.0.0.1:${host.port}`)]; // covers every host, on port 80
  const trustSites = confirm ?? [publisher.site];
  await bindSite({ ...storage, connectTo, link: await keyServer.invite(), trustSites });
  const connected = readFileSync(join(storage.dataDirectory, DATABASE));
  let others = 0;
  // Nothing is kept: what a content host does now shall be seen.
  const reader = await startReaderOf(cleanUp, { ...storage, connectTo, cacheBytes: 0, ...settings });
  const rig: ReaderRig<KeyServer> = Object.assign(reader, {
    directory,
    storage,
    publisher,
    host,
    keyServer,
    limits,
    anotherStorage: async () => {
      const dataDirectory = join(directory, `data-${++others}`);
      mkdirSync(dataDirectory, { mode: 0o700 });
      writeFileSync(join(dataDirectory, DATABASE), connected, { mode: 0o600 });
      return { ...storage, dataDirectory };
    },
    another: async (changes?: Partial<ProxyOptions>) => {
      const proxy = await startProxy({ ...(await rig.anotherStorage()), port: 0, ...changes });
      cleanUp.add(() => proxy.close());
      return proxy;
    },
    url: (path: string) => `http://${publisher.site}${path}`,
    close: () => cleanUp.run(),
  });
  publisher.afterPublishing = () => rig.proxy.check();
  return rig;
}

/** A Reader with a clock that moves, which can be started anew, and ends with the rest. */
export async function startReaderOf(cleanUp: CleanUp, options: Omit<ProxyOptions, 'port'>) {
  const refusals: { code: string; address: string }[] = [];
  let shift = 0;
  const start = (changes: Partial<ProxyOptions> = {}) =>
    startProxy({
      port: 0,
      now: () => Math.floor(Date.now() / 1000) + shift,
      onRefusal: ({ code }, address) => refusals.push({ code, address }),
      ...options,
      ...changes,
    });
  const reader = {
    proxy: await start(),
    refusals,
    passTime: (seconds: number) => {
      shift += seconds;
    },
    restart: async (changes?: Partial<ProxyOptions>) => {
      await reader.proxy.close();
      reader.proxy = await start(changes);
    },
  };
  cleanUp.add(() => reader.proxy.close());
  return reader;
}

/** Ids in a table of the reader's database, which the Reader lets go of meanwhile. */
export async function storedIds(
  rig: Pick<ReaderRig<unknown>, 'proxy' | 'restart' | 'storage'>,
  table: 'set_keys' | 'period_keys',
): Promise<unknown[]> {
  await rig.proxy.close();
  const database = new DatabaseSync(join(rig.storage.dataDirectory, DATABASE), { readOnly: true });
  const rows = database.prepare(`SELECT id FROM ${table}`).all();
  database.close();
  await rig.restart();
  return rows.map(({ id }) => id);
}
