/** Metrics that an operator wants to be woken up for, for Prometheus. No names of people, no paths of documents, no ids. */
import { statfs } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { dirname } from 'node:path';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { isBucket } from '../../node-support/storage/open.ts';
import type { KeyServerConfig } from '../config/config.ts';
import type { PublicationConfig } from '../config/schema.ts';
import type { MetricValues } from '../processes/primary.ts';
import type { KeyServerState } from '../storage/state.ts';
import { readStoredFacts, type StoredFacts } from './stored-facts.ts';

export interface Metrics {
  readonly count: (listener: string, route: string, status: number) => void;
  readonly contentType: string;
  /** Gives all metrics in Prometheus's text format. Without the database, those that need it are left out. */
  readonly text: () => Promise<string>;
  readonly values: () => Promise<MetricValues>;
}

/** Sources that metrics are read from besides the state. */
export interface MetricsSources {
  readonly targets: readonly { readonly name: string }[];
  readonly settings: Omit<PublicationConfig, 'push'>;
  /** Tells whether a database elsewhere has backups of its own. */
  readonly isBackedUpElsewhere: boolean;
  /** Ends of certificates by listener, in seconds since 1970. */
  readonly certificates: () => Iterable<readonly [listener: string, ends: number]>;
  readonly disks: () => Promise<Iterable<readonly [place: string, free: number]>>;
  /** Versions of the publication that content hosts show, by their numbers. */
  readonly shown: () => Iterable<readonly [host: string, version: number]>;
  /** Numbers of the other processes of this key server; `undefined`: it has this one. */
  readonly others?: (() => Promise<MetricValues[]>) | undefined;
}

export function createMetrics(state: KeyServerState, sources: MetricsSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'wispr_http_requests_total',
    help: 'Answers by listener, route and status.',
    labelNames: ['listener', 'route', 'status'],
    registers,
  });
  const gauge = gaugesIn(registry);
  const { resignMinutes, freshHours } = sources.settings; // alerts compare times with these
  gauge('wispr_timestamp_interval_seconds', 'Between two timestamps, as configured.').set(resignMinutes * 60);
  gauge('wispr_timestamp_fresh_seconds', 'For which a timestamp is valid, as configured.').set(freshHours * 3600);
  addTotals(registry, state);
  const fill = [
    publicationGauges(gauge, state),
    pushGauges(gauge, sources),
    tokenGauge(gauge, state),
    ...(sources.isBackedUpElsewhere ? [] : [backupGauge(gauge)]),
  ];
  const database = gauge('wispr_database_up', '1 where the database answers and takes writes.');
  const disks = gauge('wispr_disk_free_bytes', 'Free on the disk of the database, and of push targets.', ['place']);
  const certificates = gauge('wispr_certificate_expiry_seconds', 'Until a certificate ends.', ['listener']);
  const shown = gauge('wispr_content_version', 'Version of the publication that a content host shows.', ['host']);
  const dispatcher = gauge(
    'wispr_dispatcher_connected',
    'At the dispatcher, other key servers that are connected; elsewhere 1, or 0 where the dispatcher is lost.',
  );
  const values = () => {
    replace(certificates, 'listener', timesUntil(sources.certificates(), Date.now() / 1000));
    return registry.getMetricsAsJSON();
  };
  return {
    count: (listener, route, status) => requests.inc({ listener, route, status: String(status) }),
    contentType: registry.contentType,
    values,
    text: async () => {
      const facts = await readStoredFacts(state);
      database.set(Number(facts !== undefined));
      for (const each of fill) each(facts);
      replace(disks, 'place', await sources.disks());
      replace(shown, 'host', sources.shown());
      const connected = state.hashing.connected();
      if (connected === undefined) dispatcher.remove();
      else dispatcher.set(connected);
      const own = await values();
      return sources.others
        ? AggregatorRegistry.aggregate([own, ...(await sources.others())]).metrics()
        : registry.metrics();
    },
  };
}

type MakeGauge = (name: string, help: string, labelNames?: readonly string[]) => Gauge;
/** Sets gauges; `undefined`: the database does not answer. */
type Fill = (facts: StoredFacts | undefined) => void;

function gaugesIn(registry: Registry): MakeGauge {
  return (name, help, labelNames = []) => {
    // Values of all processes, or of one of them: certificates of the worker that has not read a new one.
    const made = new Gauge({ name, help, labelNames, registers: [registry], aggregator: 'min' });
    if (labelNames.length === 0) made.remove(); // removes it until it is set
    return made;
  };
}

function replace(gauge: Gauge, label: string, values: Iterable<readonly [string, number]>): void {
  gauge.reset();
  for (const [name, value] of values) gauge.set({ [label]: name }, value);
}

function timesUntil(ends: Iterable<readonly [string, number]>, now: number): [string, number][] {
  return Array.from(ends, ([name, end]) => [name, end - now]);
}

/** Adds what is counted elsewhere since the start. */
function addTotals(registry: Registry, { counts, hashing }: KeyServerState): void {
  const counter = (name: string, help: string, labelNames: string[], values: () => Iterable<[object, number]>) =>
    new Counter({
      ...{ name, help, labelNames, registers: [registry] },
      collect() {
        this.reset();
        for (const [labels, count] of values()) this.inc({ ...labels }, count);
      },
    });
  counter('wispr_password_hashes_total', 'Passwords hashed, by what became of them.', ['outcome'], () =>
    Object.entries(hashing.counts()).map(([outcome, count]) => [{ outcome }, count]),
  );
  counter('wispr_events_total', 'Events by their kind, and what became of them.', ['event', 'outcome'], () =>
    Array.from(counts.totals(), ([what, count]) => {
      const [event, outcome = ''] = what.split(' ');
      return [{ event, outcome }, count];
    }),
  );
}

function publicationGauges(gauge: MakeGauge, { now }: KeyServerState): Fill {
  const version = gauge('wispr_publication_version', 'Version of the publication.');
  const time = gauge('wispr_publication_time_seconds', 'When the publication came.');
  const withdrawn = gauge('wispr_publication_withdrawn', '1 if the publication is withdrawn.');
  const age = gauge('wispr_timestamp_age_seconds', 'Since the timestamp was signed.');
  const help = 'Until the metadata of a role expire; below zero where they have.';
  const expiry = gauge('wispr_role_expiry_seconds', help, ['role']);
  return (facts) => {
    const { publication, expiries = [] } = facts ?? {};
    for (const each of [version, time, withdrawn, age]) each.remove();
    replace(expiry, 'role', timesUntil(expiries, now()));
    if (!publication) return;
    version.set(publication.version);
    time.set(publication.published);
    withdrawn.set(Number(publication.withdrawn));
    age.set(now() - publication.signed);
  };
}

function pushGauges(gauge: MakeGauge, { targets }: MetricsSources): Fill {
  const place = 'by its place in "push"; 0: never.';
  const help = `When the timestamp was last put at a target, ${place}`;
  const succeeded = gauge('wispr_push_succeeded_timestamp_seconds', help, ['target']);
  const failed = gauge('wispr_push_failed_timestamp_seconds', `When that last failed, ${place}`, ['target']);
  return (facts) => {
    const rows = new Map(facts?.publication?.pushes.map((row) => [row.target, row]));
    const values = (time: 'failed' | 'succeeded') =>
      facts ? targets.map(({ name }, index) => [String(index + 1), rows.get(name)?.[time] ?? 0] as const) : [];
    replace(succeeded, 'target', values('succeeded'));
    replace(failed, 'target', values('failed'));
  };
}

function tokenGauge(gauge: MakeGauge, { now }: KeyServerState): Fill {
  const ends = gauge('wispr_token_expiry_seconds', 'Until the first token for something ends.', ['scope']);
  return (facts) => replace(ends, 'scope', timesUntil(facts?.tokens ?? [], now()));
}

function backupGauge(gauge: MakeGauge): Fill {
  const time = gauge('wispr_backup_timestamp_seconds', 'When the last backup was made; 0: never.');
  return (facts) => {
    if (facts) time.set(facts.backup);
    else time.remove();
  };
}

/** Answers `GET /metrics`, under the address that is listened on: a foreign `Host` is DNS rebinding. */
export function metricsApp(metrics: Metrics, origin: string): RequestListener {
  const { host } = new URL(origin);
  return (request, response) => {
    if (request.headers.host !== host) return void response.writeHead(421).end();
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end();
    metrics.text().then(
      (text) => response.writeHead(200, { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}

/** Lists the bytes that are free, by place: `database`, or the number of a push target. Places that are not there are left out. */
export async function freeOnDisks({ data, publication }: KeyServerConfig): Promise<[string, number][]> {
  const targets = (publication?.push ?? []).map((target, index) => [`push ${index + 1}`, target] as const);
  const places = [...(data === undefined ? [] : [['database', dirname(data)] as const]), ...targets];
  const found = places
    .filter(([, target]) => !isBucket(target))
    .map(async ([place, directory]): Promise<[string, number][]> => {
      const stats = await statfs(directory).catch(() => undefined);
      return stats ? [[place, stats.bavail * stats.bsize]] : [];
    });
  return (await Promise.all(found)).flat();
}
