/** The key server: what it consists of, and in which order it starts and ends. */
import type { Express } from 'express';
import { type Logger, pino } from 'pino';
import { trustedProxies } from '../node-support/client-address.ts';
import { eachMinute } from '../node-support/each-minute.ts';
import { loggedError } from '../node-support/logged-error.ts';
import { createAdminSite } from './admin-site/app.ts';
import { adminOrigin } from './admin-site/operators.ts';
import { createApi } from './api/app.ts';
import type { KeyServerConfig } from './config/config.ts';
import { DEFAULT_LIMITS, type RequestLimits } from './config/limits.ts';
import { DEFAULT_PUBLICATION } from './config/schema.ts';
import type { KeyServerError } from './errors.ts';
import { openDispatcher } from './hashing/dispatcher.ts';
import { closeListeners, type Listeners, listenersOf, openListeners } from './http/listeners.ts';
import { renew, watchCertificates } from './http/renewal.ts';
import { followTicketKey } from './http/ticket-keys.ts';
import { type StartedHttpcrypt, startHttpcrypt } from './httpcrypt/start.ts';
import { noteBounces } from './mail/bounces.ts';
import { createMailer } from './mail/mailer.ts';
import { watchContent } from './operations/content-watch.ts';
import { logOutput } from './operations/log-output.ts';
import { createMetrics, freeOnDisks, type Metrics, metricsApp } from './operations/metrics.ts';
import { openStateAndListeners } from './operations/open-state.ts';
import { checkBeforeStart, readStripe } from './operations/startup-checks.ts';
import { warnAtStart } from './operations/startup-warnings.ts';
import { Workers } from './operations/workers.ts';
import { hashingAt, mailerAt, type Place, primary } from './processes/primary.ts';
import type { Origins } from './publication/import-bundle.ts';
import { TimestampKeeper } from './publication/keeper.ts';
import { forgetDevOrigins, rememberDevOrigins } from './publication/origins.ts';
import { ProviderReader } from './publication/provider.ts';
import { PushTarget } from './publication/push-target.ts';
import { createReadingSite } from './reading-site/app.ts';
import { createContentHosts } from './reading-site/content-host.ts';
import { createDocumentsSite } from './reading-site/documents-app.ts';
import { webReaderFor } from './reading-site/program.ts';
import { ReadPublications } from './reading-site/publications.ts';
import { Teasers } from './reading-site/teasers.ts';
import { openOpenId } from './sign-in/openid-configuration.ts';
import type { Counted } from './storage/counts.ts';
import { workEachMinute } from './storage/each-minute.ts';
import { readSecret } from './storage/secrets.ts';
import { type KeyServerState, storeOf } from './storage/state.ts';
import { createPaywall } from './subscriptions/paywall.ts';

/** Parts that tests and programs that embed the key server may replace. */
export interface StartOptions {
  readonly log?: Logger;
  readonly limits?: Partial<RequestLimits>;
  readonly now?: () => number;
  readonly signal?: AbortSignal;
  readonly webReader?: string;
  readonly renewalInterval?: number;
  /** Program that calls `runWorker`, and its arguments, for as many processes as the configuration says. Left out: this process is the only one. */
  readonly workerProgram?: readonly string[];
}

export interface RunningKeyServer {
  readonly url: string;
  readonly readingUrl: string;
  readonly documentsUrl: string;
  readonly origins: Origins;
  /** The HTTPCrypt endpoint, if there is one: what the descriptor has to name. */
  readonly httpcrypt: StartedHttpcrypt['announced'] | undefined;
  readonly metricsUrl: string | undefined;
  readonly adminUrl: string | undefined;
  readonly ports: {
    readonly keyServer: number;
    readonly reading: number;
    readonly documents: number;
    readonly httpcrypt: number | undefined;
  };
  readonly state: KeyServerState;
  readonly apps: Readonly<Record<'api' | 'documents' | 'reading', Express>>;
  readonly metrics: Metrics;
  readonly keeper: TimestampKeeper;
  readonly publications: ReadPublications;
  /** Reads renewed certificates. @throws the first reason why one was not taken */
  readonly reload: () => Promise<void>;
  /** Lets running requests end, then closes sockets and database. */
  readonly close: () => Promise<void>;
}

/**
 * Starts the key server: state, listeners, apps, in this order; a failure leaves nothing open. A database that is away is waited for.
 *
 * @throws KeyServerError `master-key-…`, `database-…`, `configuration-invalid`, `certificate-…`, `listen-failed`
 */
export async function startKeyServer(config: KeyServerConfig, options: StartOptions = {}): Promise<RunningKeyServer> {
  checkBeforeStart(config);
  const { log: plain = pino({ base: null }, logOutput()) } = options;
  const log = plain.child({}, { serializers: { err: loggedError } });
  const limits = { ...DEFAULT_LIMITS, ...config.limits, ...options.limits };
  const { workerProgram } = options;
  const workers = workerProgram && (config.processes ?? 1) > 1 ? new Workers(config, workerProgram, log) : undefined;
  const open = async () => {
    const listeners = await openListeners(config, limits, workers && (() => workers.listen()));
    const place = ({ origin, port }: Place) => ({ origin, port });
    const { api, reading, documents } = listeners;
    primary?.tell('listening', { api: place(api), reading: place(reading), documents: place(documents) });
    return listeners;
  };
  const { state, listeners } = await openStateAndListeners(config, log, open, options);
  /** Parts that work for requests: they end in reverse order, once no request runs any more. */
  const parts = new AsyncDisposableStack();
  parts.defer(() => state.database.close());
  const close = async () => {
    await closeListeners(listeners);
    await parts.disposeAsync();
  };
  try {
    const running = await serve(config, state, listeners, parts, { ...options, log, limits, workers });
    return { ...running, close: () => close().then(() => log.info('stopped')) };
  } catch (error) {
    await close();
    throw (await storeOf(config)).explain(error);
  }
}

async function serve(
  config: KeyServerConfig,
  opened: KeyServerState,
  listeners: Listeners,
  parts: AsyncDisposableStack,
  {
    log,
    limits,
    webReader: folder,
    renewalInterval,
    workers,
  }: StartOptions & { readonly log: Logger; readonly limits: RequestLimits; readonly workers: Workers | undefined },
): Promise<Omit<RunningKeyServer, 'close'>> {
  const { database } = opened;
  const origins = { keyServer: listeners.api.origin, reading: listeners.reading.origin };
  const documents = listeners.documents.origin;
  const isTrustedProxy = trustedProxies(config.trustedProxies, config.proxyHeader);

  // Parts that the apps use.
  const { dispatcher } = config;
  const ownHashing = primary ? hashingAt(primary) : opened.hashing;
  const hashing = dispatcher
    ? await openDispatcher(dispatcher, await readSecret(opened, 'dispatcher'), log)
    : ownHashing;
  parts.defer(() => hashing.close());
  const paywall = createPaywall(config, opened, log);
  parts.defer(() => paywall?.close());
  const state: KeyServerState = { ...opened, hashing, renewRights: paywall?.renew };
  const provider = new ProviderReader(database);
  const hosts = createContentHosts(config.fetchFrom ?? {}, () => opened.counts.add('host-failed'));
  parts.defer(() => hosts.close());
  const publications = new ReadPublications(state, hosts);
  const teasers = new Teasers({ state, hosts }, publications);
  const mailing = {
    readingSite: origins.reading,
    log,
    count: (what: Counted) => opened.counts.add(what),
    note: noteBounces(database),
  };
  const mailer = config.mail && (primary ? mailerAt(primary) : createMailer(config.mail, mailing));
  parts.defer(() => mailer?.close());
  const ending = new AbortController();
  parts.defer(() => ending.abort());
  const openid = await openOpenId(config, state.now, ending.signal);
  const webReader = webReaderFor(config, folder, log);
  const publication = config.publication ?? DEFAULT_PUBLICATION;
  const targets = await Promise.all(publication.push.map((target) => PushTarget.open(target)));
  const pushElsewhere = primary && (() => primary?.tell('push'));
  // A failure is found again by the page that needs the publication.
  const follow = () => publications.follow().catch(() => undefined);
  parts.defer(eachMinute(follow).stop); // news may come by another process
  const keeper = new TimestampKeeper({ state, log, targets, pushElsewhere, follow, ...publication });
  const watch = watchContent(state, config, log);
  const metrics = createMetrics(state, {
    targets,
    settings: publication,
    isBackedUpElsewhere: config.database !== undefined,
    certificates: () => certificateEnds(listeners),
    disks: () => freeOnDisks(config),
    shown: watch.shown,
    others: workers && (() => workers.metrics()),
  });

  // Apps.
  const { firstPage = 'server' } = config.reading.documents;
  const common = (listener: keyof Listeners) => ({
    state,
    log,
    provider,
    limits,
    isTrustedProxy,
    dev: config.dev === true,
    count: (route: string, status: number) => metrics.count(listener, route, status),
  });
  const api = createApi({
    ...common('api'),
    origin: origins.keyServer,
    origins,
    keeper,
    interval: publication.resignMinutes * 60,
    stripe: readStripe(config),
    mailer,
  });
  const apps = {
    api: api.app,
    reading: createReadingSite({
      ...common('reading'),
      origin: origins.reading,
      documents,
      publications,
      teasers,
      openid,
      mailer,
      portal: config.stripe?.portal,
      priced: new Set(Object.values(config.stripe?.plans ?? {})),
      webReader,
      firstPage,
    }),
    documents: createDocumentsSite({
      ...common('documents'),
      origin: documents,
      account: origins.reading,
      hosts,
      publications,
      teasers,
      webReader,
      firstPage,
    }),
  };
  const adminUrl = config.admin && listeners.admin && (await adminOrigin(opened, config.admin, listeners.admin.port));
  const admin =
    adminUrl &&
    createAdminSite({
      ...common('admin'),
      config,
      origin: adminUrl,
      origins,
      dev: adminUrl.startsWith('http:'),
    });
  if (!primary) await warnAtStart({ config, state, provider, webReader, origins, documents, log });
  if (config.dev) await rememberDevOrigins(database, origins);
  else await forgetDevOrigins(database);

  // Requests are answered from here on.
  const all = listenersOf(listeners);
  parts.defer(await followTicketKey(state, log, (key) => all.forEach(({ setTicketKey }) => void setTicketKey(key))));
  listeners.api.serve(api.listener);
  listeners.reading.serve(apps.reading);
  listeners.documents.serve(apps.documents);
  listeners.metrics?.serve(metricsApp(metrics, listeners.metrics.origin));
  if (admin) listeners.admin?.serve(admin);
  const encrypted =
    config.httpcrypt &&
    (await startHttpcrypt({ ...common('httpcrypt'), metrics, config: config.httpcrypt, origin: origins.keyServer }));
  if (encrypted) listeners.httpcrypt?.serve(encrypted.app);
  parts.defer(() => encrypted?.stop());
  await workers?.serve({ state, mailer, push: () => keeper.push() });
  if (!primary) keeper.start();
  parts.defer(() => keeper.stop());
  parts.defer(workEachMinute(state, log, primary !== undefined));
  if (listeners.metrics) parts.defer(watch.start());
  parts.defer(watchCertificates(all, log, renewalInterval));
  if (!primary)
    openid?.provider.greet().catch(({ code, message: reason }: KeyServerError) => {
      if (!ending.signal.aborted)
        log.warn({ code, reason }, 'nobody can sign in at the OpenID provider; "wispr doctor" tries it again');
    });
  log.info({ ...origins, documents, dev: config.dev === true }, 'started');
  return {
    url: origins.keyServer,
    readingUrl: origins.reading,
    documentsUrl: documents,
    origins,
    httpcrypt: encrypted?.announced,
    metricsUrl: listeners.metrics && `${listeners.metrics.origin}/metrics`,
    adminUrl,
    ports: {
      keyServer: listeners.api.port,
      reading: listeners.reading.port,
      documents: listeners.documents.port,
      httpcrypt: listeners.httpcrypt?.port,
    },
    state,
    apps,
    metrics,
    keeper,
    publications,
    reload: async () => {
      await Promise.all([workers?.reload(), Promise.resolve().then(() => renew(all))]);
    },
  };
}

function certificateEnds(listeners: Listeners): [string, number][] {
  return Object.entries(listeners).flatMap(([name, listener]: [string, Listeners['api'] | undefined]) => {
    const end = listener?.certificateEnd();
    return end === undefined ? [] : [[name, end]];
  });
}
