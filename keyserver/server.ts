/** The key server: its apps, and the running thing. */
import type { Express } from 'express';
import { destination, type Logger, pino } from 'pino';
import { trustedProxies } from '../node-support/trusted-proxies.ts';
import { readWebReader, type WebReaderFiles } from '../node-support/web-reader-files.ts';
import { createAdminSite } from './admin-site/app.ts';
import { createApiApp } from './api/app.ts';
import type { StripeConfig } from './api/subscriptions.ts';
import { DEFAULT_PUBLICATION, type KeyServerConfig } from './config.ts';
import { KeyServerError } from './errors.ts';
import type { Hashing } from './hashing/hashing.ts';
import { openDispatcher } from './hashing/open.ts';
import { DEFAULT_LIMITS, type RequestLimits } from './http/limits.ts';
import { checkAdminDoor, checkDoor, checkHttpcryptDoor, type Listener, listenFor } from './http/listen.ts';
import { watchCertificates } from './http/renewal.ts';
import { followTicketKey } from './http/ticket-keys.ts';
import { type StartedHttpcrypt, startHttpcrypt } from './httpcrypt/start.ts';
import { createMailer, type Mailer } from './mail/mailer.ts';
import { metricsDoor } from './metrics/door.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { type OpenIdDoor, openOpenId } from './openid/config.ts';
import { forgetDevOrigins, rememberDevOrigins } from './origins.ts';
import { createPaywall } from './paywall/paywall.ts';
import type { Origins } from './publication/import-bundle.ts';
import { TimestampKeeper } from './publication/keeper.ts';
import { ProviderReader, siteReadAt } from './publication/provider.ts';
import { PushTarget } from './publication/push-target.ts';
import { createReadingSite } from './reading-site/app.ts';
import { type ContentHosts, createContentHosts } from './reading-site/content-host.ts';
import { createDocumentsSite } from './reading-site/documents-app.ts';
import { ReadPublications } from './reading-site/publications.ts';
import { workEachMinute } from './storage/each-minute.ts';
import { readSecret } from './storage/secrets.ts';
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
  readonly limits: RequestLimits;
  readonly webReader: WebReaderFiles | undefined;
  readonly stripe: StripeConfig | undefined;
  readonly openid: OpenIdDoor | undefined;
  readonly mailer: Mailer | undefined;
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
  /** Milliseconds between two looks at the files of certificates. */
  readonly renewalInterval?: number;
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
  /** Origin of the operators' pages, if they are on. */
  readonly adminUrl: string | undefined;
  /** The ports listened on. */
  readonly ports: {
    readonly keyServer: number;
    readonly reading: number;
    readonly documents: number;
    readonly httpcrypt: number | undefined;
  };
  readonly state: KeyServerState;
  /** What answers at each door. */
  readonly apps: KeyServerApps;
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
  const { state, origins, documents, log, hosts, publications, keeper, metrics, webReader, stripe, mailer } =
    dependencies;
  const common = {
    state,
    log,
    provider: new ProviderReader(state.database),
    limits: dependencies.limits,
    dev: config.dev === true,
    isTrustedProxy: trustedProxies(config.trustedProxies),
  };
  const doorOf = (door: string) => ({
    count: (route: string, status: number) => metrics.count(door, route, status),
  });
  return {
    api: createApiApp({ ...common, ...doorOf('api'), origin: origins.keyServer, origins, keeper, stripe, mailer }),
    reading: createReadingSite({
      ...common,
      ...doorOf('reading'),
      origin: origins.reading,
      documents,
      publications,
      keyServer: origins.keyServer,
      door: dependencies.openid,
      mail: mailer && { mailer, signUp: config.signUp },
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

/** Everything that is wrong with a configuration, in one error. @throws KeyServerError `configuration-invalid` */
function checkAll(...checks: readonly (() => void)[]): void {
  const problems = checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (error instanceof KeyServerError) return [error];
      throw error;
    }
  });
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  throw new KeyServerError('configuration-invalid', [...new Set(problems.map(({ message }) => message))].join('\n'));
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
  const doors = [config, config.reading, config.reading.documents];
  checkAll(
    ...doors.map((door) => () => checkDoor(door, config)),
    () => checkHttpcryptDoor(config),
    () => checkAdminDoor(config.admin, config),
    () => readStripe(config),
  );
  const { log = createLog() } = options;
  const state = await openState(config, options.now);
  const listeners: Listener[] = [];
  let hashing: Hashing | undefined;
  const isTrusted = trustedProxies(config.trustedProxies);
  const isPublicAdmin = (door: unknown) => door === config.admin && config.admin?.origin?.startsWith('https:') === true;
  const isPlain = (door: Parameters<typeof listenFor>[0]) =>
    !door.tls && !config.dev && (doors.includes(door) || isPublicAdmin(door));
  const open = async (...[door, member]: Parameters<typeof listenFor>) => {
    const listener = await listenFor(door, member, isPlain(door) ? isTrusted : undefined);
    listeners.push(listener);
    return listener;
  };
  try {
    const opened = {
      api: await open(config, 'listen'),
      reading: await open(config.reading, 'reading.listen'),
      documents: await open(config.reading.documents, 'reading.documents.listen'),
      httpcrypt: config.httpcrypt && (await open({ listen: config.httpcrypt.listen }, 'httpcrypt.listen')),
      metrics: config.metrics && (await open(config.metrics, 'metrics.listen')),
      admin: config.admin && (await open(config.admin, 'admin.listen')),
    };
    if (config.dispatcher)
      hashing = await openDispatcher(config.dispatcher, await readSecret(state, 'dispatcher'), log);
    return await serve(config, { ...state, ...(hashing && { hashing }) }, opened, { ...options, log });
  } catch (error) {
    await Promise.all([...listeners.map(({ close }) => close()), hashing?.close()]);
    await state.database.close();
    throw error;
  }
}

/** What listens; the last three may be left out. */
interface Doors {
  readonly api: Listener;
  readonly reading: Listener;
  readonly documents: Listener;
  readonly httpcrypt: Listener | undefined;
  readonly metrics: Listener | undefined;
  readonly admin: Listener | undefined;
}

async function serve(
  config: KeyServerConfig,
  opened: KeyServerState,
  doors: Doors,
  { log, limits = {}, webReader: folder, renewalInterval }: StartOptions & { readonly log: Logger },
): Promise<RunningKeyServer> {
  const { api, reading, documents } = doors;
  const paywall = createPaywall(config, opened, log);
  const state = { ...opened, renewRights: paywall?.renew };
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
    limits: { ...DEFAULT_LIMITS, ...limitsOf(config), ...limits },
    webReader: webReaderFor(config, folder, log),
    stripe: readStripe(config),
    openid: await openOpenId(config, state.now),
    mailer: config.mail && createMailer(config.mail, log),
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
  const adminOrigin = doors.admin && namedLoopback(doors.admin.origin);
  if (adminOrigin) doors.admin?.serve(adminSiteAt(adminOrigin, config, shared));
  const encrypted = doors.httpcrypt && (await serveHttpcrypt(doors.httpcrypt, config, shared));
  keeper.start();
  const endRecords = workEachMinute(state, log);
  const stopWatching = watchCertificates(listeners, log, renewalInterval);
  warmUp(state, origins.reading, publications).catch(() => undefined);
  log.info({ ...origins, documents: documents.origin, dev: config.dev === true }, 'started');
  return {
    url: origins.keyServer,
    readingUrl: origins.reading,
    documentsUrl: documents.origin,
    origins,
    httpcrypt: encrypted?.announced,
    metricsUrl: doors.metrics && `${doors.metrics.origin}/metrics`,
    adminUrl: adminOrigin,
    ports: {
      keyServer: api.port,
      reading: reading.port,
      documents: documents.port,
      httpcrypt: doors.httpcrypt?.port,
    },
    state,
    apps,
    keeper,
    publications,
    reload: () => listeners.forEach(({ reload }) => void reload()),
    close: async () => {
      stopWatching();
      await Promise.all(listeners.map(({ close }) => close()));
      encrypted?.stop();
      await state.hashing.close();
      await Promise.all([keeper.stop(), hosts.close(), paywall?.close(), shared.mailer?.close(), stopFollowing()]);
      await endRecords();
      await state.database.close();
      log.info('stopped');
    },
  };
}

/** Passkeys belong to a name, and an address is none. */
function namedLoopback(origin: string): string {
  return origin.replace(/^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=:|$)/, 'http://localhost');
}

/** The operators' pages. */
function adminSiteAt(
  origin: string,
  config: KeyServerConfig,
  { state, origins, log, limits, metrics }: Omit<KeyServerDependencies, 'documents'>,
): Express {
  return createAdminSite({
    state,
    config,
    origin,
    origins,
    log,
    provider: new ProviderReader(state.database),
    limits: { ...DEFAULT_LIMITS, ...limits },
    dev: origin.startsWith('http:'),
    isTrustedProxy: trustedProxies(config.trustedProxies),
    count: (route, status) => metrics.count('admin', route, status),
  });
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
    isTrustedProxy: trustedProxies(config.trustedProxies),
    state,
    provider: new ProviderReader(state.database),
    origin: origins.keyServer,
    limits,
    log,
    metrics,
  });
  listener.serve(started.app);
  return started;
}

/** Those limits that the configuration sets. */
function limitsOf({ limits }: KeyServerConfig): Partial<RequestLimits> {
  return limits ? { devicesPerSubscriber: limits.devices } : {};
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
