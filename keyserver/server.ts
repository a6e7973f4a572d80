/** The key server: its apps, and the running thing. */
import type { Express } from 'express';
import { destination, type Logger, pino } from 'pino';
import { readWebReader, type WebReaderFiles } from '../node-support/web-reader-files.ts';
import { createApiApp } from './api/app.ts';
import type { StripeConfig } from './api/subscriptions.ts';
import { DEFAULT_PUBLICATION, type KeyServerConfig } from './config.ts';
import { KeyServerError } from './errors.ts';
import { DEFAULT_LIMITS, type RequestLimits } from './http/limits.ts';
import { checkDoor, checkHttpcryptDoor, type Listener, listenFor } from './http/listen.ts';
import { followTicketKey } from './http/ticket-keys.ts';
import { type StartedHttpcrypt, startHttpcrypt } from './httpcrypt/start.ts';
import { metricsDoor } from './metrics/door.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { forgetDevOrigins, rememberDevOrigins } from './origins.ts';
import type { Origins } from './publication/import-bundle.ts';
import { TimestampKeeper } from './publication/keeper.ts';
import { ProviderReader, siteReadAt } from './publication/provider.ts';
import { PushTarget } from './publication/push-target.ts';
import { createReadingSite } from './reading-site/app.ts';
import { type ContentHosts, createContentHosts } from './reading-site/content-host.ts';
import { createDocumentsSite } from './reading-site/documents-app.ts';
import { ReadPublications } from './reading-site/publications.ts';
import { type KeyServerState, openState } from './storage/state.ts';
import { readStripe } from './stripe.ts';

/** What the apps work with. */
export interface KeyServerDependencies {
  readonly state: KeyServerState;
  readonly origins: Origins;
  /** Origin of the documents that the reading site shows. */
  readonly documents: string;
  readonly log: Logger;
  readonly hosts: ContentHosts;
  readonly publications: ReadPublications;
  readonly keeper: TimestampKeeper;
  readonly metrics: Metrics;
  readonly limits?: Partial<RequestLimits>;
  readonly webReader: WebReaderFiles | undefined;
  readonly stripe: StripeConfig | undefined;
}

export interface KeyServerApps {
  readonly api: Express;
  readonly reading: Express;
  readonly documents: Express;
}

/** What tests and programs that embed the key server may replace. */
export interface StartOptions {
  readonly log?: Logger;
  readonly limits?: Partial<RequestLimits>;
  /** Seconds since 1970. */
  readonly now?: () => number;
  /** Folder of the built in-browser reader. */
  readonly webReader?: string;
}

export interface RunningKeyServer {
  /** Origin of the API. */
  readonly url: string;
  /** Origin of the reading site. */
  readonly readingUrl: string;
  /** Origin of the documents that it shows. */
  readonly documentsUrl: string;
  readonly origins: Origins;
  /** The door of HTTPCrypt, if there is one: what the descriptor has to name. */
  readonly httpcrypt: StartedHttpcrypt['announced'] | undefined;
  /** Where metrics are read, if they are. */
  readonly metricsUrl: string | undefined;
  /** The ports listened on. */
  readonly ports: {
    readonly keyServer: number;
    readonly reading: number;
    readonly documents: number;
    readonly httpcrypt: number | undefined;
  };
  readonly state: KeyServerState;
  /** Keeps the publication fresh. */
  readonly keeper: TimestampKeeper;
  /** What the reading site reads. */
  readonly publications: ReadPublications;
  /** Reads renewed certificates. */
  readonly reload: () => void;
  /** Lets running requests end, then closes sockets and database. */
  readonly close: () => Promise<void>;
}

/** The apps, not listening. */
function createKeyServer(config: KeyServerConfig, dependencies: KeyServerDependencies): KeyServerApps {
  const { state, origins, documents, log, hosts, publications, keeper, metrics, webReader, stripe } = dependencies;
  const common = {
    state,
    log,
    provider: new ProviderReader(state.database),
    limits: { ...DEFAULT_LIMITS, ...dependencies.limits },
    dev: config.dev === true,
    behindProxy: config.behindProxy === true,
  };
  const doorOf = (door: string) => ({
    count: (route: string, status: number) => metrics.count(door, route, status),
  });
  return {
    api: createApiApp({ ...common, ...doorOf('api'), origin: origins.keyServer, origins, keeper, stripe }),
    reading: createReadingSite({
      ...common,
      ...doorOf('reading'),
      origin: origins.reading,
      documents,
      publications,
      keyServer: origins.keyServer,
      webReader,
    }),
    documents: createDocumentsSite({
      ...common,
      ...doorOf('documents'),
      origin: documents,
      account: origins.reading,
      hosts,
      publications,
      webReader,
    }),
  };
}

/** Reads the site settings, so that the first page has the publisher's colours. */
async function warmUp({ database }: KeyServerState, reading: string, publications: ReadPublications): Promise<void> {
  const known = await new ProviderReader(database).read();
  const site = known && siteReadAt(known.descriptor, reading);
  if (site) publications.settingsOf(known, site);
}

/** The log of a running key server: JSON lines on standard error. */
function createLog(): Logger {
  return pino({ base: null }, destination(2));
}

/**
 * Starts the key server: state, sockets, apps, in this order; whatever fails leaves nothing open.
 *
 * @throws KeyServerError `master-key-…`, `database-…`, `configuration-invalid`, `certificate-…`, `listen-failed`
 */
export async function startKeyServer(config: KeyServerConfig, options: StartOptions = {}): Promise<RunningKeyServer> {
  for (const door of [config, config.reading, config.reading.documents]) checkDoor(door, config);
  checkHttpcryptDoor(config);
  const state = await openState(config, options.now);
  const listeners: Listener[] = [];
  const open = async (...door: Parameters<typeof listenFor>) => {
    const listener = await listenFor(...door);
    listeners.push(listener);
    return listener;
  };
  try {
    const doors = {
      api: await open(config, 'listen'),
      reading: await open(config.reading, 'reading.listen'),
      documents: await open(config.reading.documents, 'reading.documents.listen'),
      httpcrypt: config.httpcrypt && (await open({ listen: config.httpcrypt.listen }, 'httpcrypt.listen')),
      metrics: config.metrics && (await open(config.metrics, 'metrics.listen')),
    };
    return await serve(config, state, doors, options);
  } catch (error) {
    await Promise.all(listeners.map(({ close }) => close()));
    await state.database.close();
    throw error;
  }
}

/** What listens; the last two may be left out. */
interface Doors {
  readonly api: Listener;
  readonly reading: Listener;
  readonly documents: Listener;
  readonly httpcrypt: Listener | undefined;
  readonly metrics: Listener | undefined;
}

async function serve(
  config: KeyServerConfig,
  state: KeyServerState,
  doors: Doors,
  { log = createLog(), limits = {}, webReader: folder }: StartOptions,
): Promise<RunningKeyServer> {
  const { api, reading, documents } = doors;
  const listeners = Object.values(doors).filter((door) => door !== undefined);
  const origins = { keyServer: api.origin, reading: reading.origin };
  const hosts = createContentHosts(config.fetchFrom ?? {});
  const publications = new ReadPublications(state, hosts);
  const { keeper, metrics } = await keepTimestamp(config, state, log);
  const shared = {
    state,
    origins,
    log,
    hosts,
    publications,
    keeper,
    metrics,
    limits,
    webReader: webReaderFor(config, folder, log),
    stripe: readStripe(config),
  };
  const apps = createKeyServer(config, { ...shared, documents: documents.origin });
  await warnOfDescriptor(state, origins, log);
  if (config.dev) await rememberDevOrigins(state.database, origins);
  else await forgetDevOrigins(state.database);
  const useTicketKey = (key: Uint8Array) => listeners.forEach(({ setTicketKey }) => void setTicketKey(key));
  const stopFollowing = await followTicketKey(state, log, useTicketKey);
  api.serve(apps.api);
  reading.serve(apps.reading);
  documents.serve(apps.documents);
  doors.metrics?.serve(metricsDoor(metrics, doors.metrics.origin));
  const encrypted = doors.httpcrypt && (await serveHttpcrypt(doors.httpcrypt, config, shared));
  keeper.start();
  warmUp(state, origins.reading, publications).catch(() => undefined);
  log.info({ ...origins, documents: documents.origin, dev: config.dev === true }, 'started');
  return {
    url: origins.keyServer,
    readingUrl: origins.reading,
    documentsUrl: documents.origin,
    origins,
    httpcrypt: encrypted?.announced,
    metricsUrl: doors.metrics && `${doors.metrics.origin}/metrics`,
    ports: {
      keyServer: api.port,
      reading: reading.port,
      documents: documents.port,
      httpcrypt: doors.httpcrypt?.port,
    },
    state,
    keeper,
    publications,
    reload: () => listeners.forEach(({ reload }) => void reload()),
    close: async () => {
      await Promise.all(listeners.map(({ close }) => close()));
      encrypted?.stop();
      await Promise.all([keeper.stop(), hosts.close(), stopFollowing()]);
      await state.database.close();
      log.info('stopped');
    },
  };
}

/** The door of HTTPCrypt, for what the API answers. */
async function serveHttpcrypt(
  listener: Listener,
  config: KeyServerConfig,
  { state, origins, log, limits, metrics }: Omit<KeyServerDependencies, 'documents'>,
): Promise<StartedHttpcrypt | undefined> {
  if (!config.httpcrypt) return undefined;
  const started = await startHttpcrypt({
    config: config.httpcrypt,
    behindProxy: config.behindProxy === true,
    state,
    provider: new ProviderReader(state.database),
    origin: origins.keyServer,
    limits: { ...DEFAULT_LIMITS, ...limits },
    log,
    metrics,
  });
  listener.serve(started.app);
  return started;
}

/** The in-browser reader, where it is wanted and there. @throws KeyServerError `configuration-invalid` where it is wanted by name, and not there */
function webReaderFor(
  { reading }: KeyServerConfig,
  folder: string | undefined,
  log: Logger,
): WebReaderFiles | undefined {
  const { inBrowser } = reading.documents;
  if (inBrowser === false) return undefined;
  const files = readWebReader(folder);
  if (files) return files;
  const message = 'the in-browser reader is not built: run "node scripts/build-web-reader.ts"';
  if (inBrowser) throw new KeyServerError('configuration-invalid', message);
  log.warn(`${message}; until then documents are decrypted here`);
  return undefined;
}

/** The keeper of the timestamp, not started, and the metrics that watch it. @throws StorageError `argument-invalid` */
async function keepTimestamp(config: KeyServerConfig, state: KeyServerState, log: Logger) {
  const publication = config.publication ?? DEFAULT_PUBLICATION;
  const targets = await Promise.all(publication.push.map((target) => PushTarget.open(target)));
  return {
    keeper: new TimestampKeeper({ state, log, targets, ...publication }),
    metrics: createMetrics(state, targets),
  };
}

/** The descriptor is the publisher's to renew; until then the key server works, and says what readers will meet. */
async function warnOfDescriptor({ database, now }: KeyServerState, origins: Origins, log: Logger): Promise<void> {
  const provider = await new ProviderReader(database).read();
  if (!provider) return;
  const { descriptor } = provider;
  if (descriptor.expires < now())
    log.warn('the descriptor has expired: new readers cannot connect until a newer bundle is imported');
  if (descriptor.keyServer !== origins.keyServer || !siteReadAt(descriptor, origins.reading))
    log.warn({ descriptor: descriptor.keyServer }, 'the descriptor names other origins than this key server has');
}
