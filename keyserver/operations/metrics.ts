/** What an operator wants to be woken up for, for Prometheus. No names of people, no paths of documents, no ids. */
import { Counter, Gauge, Registry } from 'prom-client';
import type { PublicationConfig } from '../config/schema.ts';
import type { PushTarget } from '../publication/push-target.ts';
import { isWithdrawn, newestRoot, type Publication, readPublication } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';

export interface Metrics {
  /** Counts an answer. */
  readonly count: (listener: string, route: string, status: number) => void;
  readonly contentType: string;
  /** All metrics in Prometheus's text format. */
  readonly text: () => Promise<string>;
}

export function createMetrics(
  state: KeyServerState,
  targets: readonly PushTarget[],
  settings: Omit<PublicationConfig, 'push'>,
): Metrics {
  const registry = new Registry();
  const requests = new Counter({
    name: 'wispr_http_requests_total',
    help: 'Answers by listener, route and status.',
    labelNames: ['listener', 'route', 'status'],
    registers: [registry],
  });
  addPublicationGauges(registry, state);
  addExpiryGauge(registry, state);
  addSettings(registry, settings);
  addPushGauges(registry, state, targets);
  addHashing(registry, state);
  return {
    count: (listener, route, status) => requests.inc({ listener, route, status: String(status) }),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}

function addHashing(registry: Registry, { hashing }: KeyServerState): void {
  new Counter({
    name: 'wispr_password_hashes_total',
    help: 'Passwords hashed, by what became of them: local, dispatched, refused, for-dispatcher.',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(hashing.counts())) this.inc({ outcome }, count);
    },
  });
  if (hashing.connected() === undefined) return;
  new Gauge({
    name: 'wispr_dispatcher_connected',
    help: 'At the dispatcher, other key servers that are connected; elsewhere 1, or 0 where the dispatcher is lost.',
    registers: [registry],
    collect() {
      this.set(hashing.connected() ?? 0);
    },
  });
}

function addPublicationGauges(registry: Registry, { database, now }: KeyServerState): void {
  const publication = (name: string, help: string, value: (known: Publication) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const known = await readPublication(database);
        if (known) this.set(value(known));
        else this.remove();
      },
    });
  publication('wispr_publication_version', 'Version of the publication.', ({ snapshotVersion }) => snapshotVersion);
  publication('wispr_publication_withdrawn', '1 if the publication is withdrawn.', (known) =>
    Number(isWithdrawn(known)),
  );
  publication('wispr_timestamp_age_seconds', 'Since the timestamp was signed.', ({ version }) => now() - version);
}

function addExpiryGauge(registry: Registry, { database, now }: KeyServerState): void {
  new Gauge({
    name: 'wispr_role_expiry_seconds',
    help: 'Until the metadata of a role expire; below zero where they have.',
    labelNames: ['role'],
    registers: [registry],
    async collect() {
      const expiries = await expiriesOf(database);
      this.reset();
      for (const [role, expires] of expiries) this.set({ role }, expires - now());
    },
  });
}

/** Adds the settings that alerts compare times with. */
function addSettings(registry: Registry, { resignMinutes, freshHours }: Omit<PublicationConfig, 'push'>): void {
  const setting = (name: string, help: string, value: number) =>
    new Gauge({ name: `wispr_timestamp_${name}_seconds`, help, registers: [registry] }).set(value);
  setting('interval', 'Between two timestamps, as configured.', resignMinutes * 60);
  setting('fresh', 'For which a timestamp is valid, as configured.', freshHours * 3600);
}

/** By role, in seconds since 1970. What the publisher has said comes first: root and timestamp are known here. */
async function expiriesOf(database: KeyServerState['database']): Promise<Map<string, number>> {
  const known = await readPublication(database);
  const root = await newestRoot(database);
  const expiries = new Map(known?.expiries.map(({ role, expires }) => [role, expires]));
  if (known) expiries.set('timestamp', known.expires);
  if (known && root) expiries.set('root', root.expires);
  return expiries;
}

function addPushGauges(registry: Registry, { database }: KeyServerState, targets: readonly PushTarget[]): void {
  const gauge = (column: 'succeeded' | 'failed', help: string) =>
    new Gauge({
      name: `wispr_push_${column}_timestamp_seconds`,
      help,
      labelNames: ['target'],
      registers: [registry],
      async collect() {
        const rows = await database.all<{ target: string; time: number }>(
          `SELECT target, ${column} AS time FROM pushes WHERE ${column} IS NOT NULL`,
        );
        this.reset();
        const times = new Map(rows.map(({ target, time }) => [target, time]));
        for (const [index, { name }] of targets.entries()) this.set({ target: index + 1 }, times.get(name) ?? 0);
      },
    });
  gauge('succeeded', 'When the timestamp was last put at a target, by its place in "push"; 0: never.');
  gauge('failed', 'When that last failed; 0: never.');
}
