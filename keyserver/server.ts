/** The key server: what starts it, and the running thing. */
import { destination, type Logger, pino } from 'pino';
import { readWebReader, type WebReaderFiles } from '../node-support/web-reader-files.ts';
import { createApps, createOperatorsApp, type KeyServerApps, type KeyServerDependencies } from './apps.ts';
import type { KeyServerConfig } from './config/config.ts';
import { DEFAULT_PUBLICATION } from './config/schema.ts';
import { KeyServerError } from './errors.ts';
import type { Hashing } from './hashing/hashing.ts';
import { openDispatcher } from './hashing/open.ts';
import { trustedProxies } from './http/client-address.ts';
import { DEFAULT_LIMITS, type RequestLimits } from './http/limits.ts';
import { closeDoors, type Doors, listenersOf } from './http/listeners.ts';
import { watchCertificates } from './http/renewal.ts';
import { followTicketKey } from './http/ticket-keys.ts';
import { type StartedHttpcrypt, startHttpcrypt } from './httpcrypt/start.ts';
import { createMailer } from './mail/mailer.ts';
import { createMetrics } from './operations/metrics.ts';
import { metricsDoor } from './operations/metrics-app.ts';
import { openStateAndDoors } from './operations/open-state.ts';
import { checkBeforeStart, readStripe } from './operations/startup-checks.ts';
import type { Origins } from './publication/import-bundle.ts';
import { TimestampKeeper } from './publication/keeper.ts';
import { forgetDevOrigins, rememberDevOrigins } from './publication/origins.ts';
import { type Provider, ProviderReader, siteReadAt } from './publication/provider.ts';
import { PushTarget } from './publication/push-target.ts';
import { createContentHosts } from './reading-site/content-host.ts';
import { ReadPublications } from './reading-site/publications.ts';
import { openOpenId } from './sign-in/openid-configuration.ts';
import { workEachMinute } from './storage/each-minute.ts';
import { readSecret } from './storage/secrets.ts';
import type { KeyServerState } from './storage/state.ts';
import { warnOfUnknownPlans } from './subscriptions/named-plans.ts';
import { createPaywall } from './subscriptions/paywall.ts';

/** What tests and programs that embed the key server may replace. */
export interface StartOptions {
  readonly log?: Logger;
  readonly limits?: Partial<RequestLimits>;
  /** Seconds since 1970. */
  readonly now?: () => number;
  /** Ends the wait for a database that is away. */
  readonly signal?: AbortSignal;
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

/** Reads the site settings, so that the first page has the publisher's colours. */
async function warmUp({ provider, origins, publications }: KeyServerDependencies): Promise<void> {
  const known = await provider.read();
  const site = known && siteReadAt(known.descriptor, origins.reading);
  if (site) publications.settingsOf(known, site);
}

/** The log of a running key server: JSON lines on standard error. */
function createLog(): Logger {
  return pino({ base: null }, destination(2));
}

/**
 * Starts the key server: state, sockets, apps, in this order; whatever fails leaves nothing open. A database that is away is waited for.
 *
 * @throws KeyServerError `master-key-…`, `database-…`, `configuration-invalid`, `certificate-…`, `listen-failed`
 */
export async function startKeyServer(config: KeyServerConfig, options: StartOptions = {}): Promise<RunningKeyServer> {
  checkBeforeStart(config);
  const { log = createLog() } = options;
  const { state, doors } = await openStateAndDoors(config, log, options);
  let hashing: Hashing | undefined;
  try {
    if (config.dispatcher)
      hashing = await openDispatcher(config.dispatcher, await readSecret(state, 'dispatcher'), log);
    return await serve(config, { ...state, ...(hashing && { hashing }) }, doors, { ...options, log });
  } catch (error) {
    await Promise.all([closeDoors(doors), hashing?.close()]);
    await state.database.close();
    throw error;
  }
}

async function serve(
  config: KeyServerConfig,
  opened: KeyServerState,
  doors: Doors,
  { log, limits = {}, webReader: folder, renewalInterval }: StartOptions & { readonly log: Logger },
): Promise<RunningKeyServer> {
  const { api, reading, documents } = doors;
  const listeners = listenersOf(doors);
  const paywall = createPaywall(config, opened, log);
  const state = { ...opened, renewRights: paywall?.renew };
  const provider = new ProviderReader(state.database);
  const origins = { keyServer: api.origin, reading: reading.origin };
  const hosts = createContentHosts(config.fetchFrom ?? {});
  const publications = new ReadPublications(state, hosts);
  const { keeper, metrics } = await keepTimestamp(config, state, log);
  const dependencies = {
    config,
    state,
    provider,
    origins,
    documents: documents.origin,
    log,
    isTrustedProxy: trustedProxies(config.trustedProxies),
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
  const apps = createApps(dependencies);
  warnOfDescriptor(await provider.read(), dependencies);
  await warnOfUnknownPlans(config, state, log);
  if (config.dev) await rememberDevOrigins(state.database, origins);
  else await forgetDevOrigins(state.database);
  const useTicketKey = (key: Uint8Array) => listeners.forEach(({ setTicketKey }) => void setTicketKey(key));
  const stopFollowing = await followTicketKey(state, log, useTicketKey);
  api.serve(apps.api);
  reading.serve(apps.reading);
  documents.serve(apps.documents);
  doors.metrics?.serve(metricsDoor(metrics, doors.metrics.origin));
  const adminOrigin = doors.admin && namedLoopback(doors.admin.origin);
  if (adminOrigin) doors.admin?.serve(createOperatorsApp(adminOrigin, dependencies));
  const encrypted =
    config.httpcrypt &&
    (await startHttpcrypt({ ...dependencies, config: config.httpcrypt, origin: origins.keyServer }));
  if (encrypted) doors.httpcrypt?.serve(encrypted.app);
  keeper.start();
  const endRecords = workEachMinute(state, log);
  const stopWatching = watchCertificates(listeners, log, renewalInterval);
  warmUp(dependencies).catch(() => undefined);
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
      await closeDoors(doors);
      encrypted?.stop();
      await state.hashing.close();
      await Promise.all([
        keeper.stop(),
        hosts.close(),
        paywall?.close(),
        dependencies.mailer?.close(),
        stopFollowing(),
      ]);
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
  const message = 'the in-browser reader is not built: in a clone, `npm run build:web`';
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
    metrics: createMetrics(state, targets, publication),
  };
}

/** The descriptor is the publisher's to renew; until then the key server works, and says what readers will meet. */
function warnOfDescriptor(known: Provider | undefined, { state, origins, log }: KeyServerDependencies): void {
  if (!known) return;
  const { descriptor } = known;
  if (descriptor.expires < state.now())
    log.warn('the descriptor has expired: new readers cannot connect until a newer bundle is imported');
  if (descriptor.keyServer !== origins.keyServer || !siteReadAt(descriptor, origins.reading))
    log.warn({ descriptor: descriptor.keyServer }, 'the descriptor names other origins than this key server has');
}
