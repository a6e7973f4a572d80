/** Facts that metrics and examinations take from the database. */
import { withinTime } from '../../node-support/within-time.ts';
import { newestRoot } from '../publication/stored.ts';
import { listTokens } from '../publication/tokens.ts';
import type { Database } from '../storage/database.ts';
import { probeDatabase } from '../storage/probe.ts';
import type { KeyServerState } from '../storage/state.ts';
import { describePublication, type PublicationOverview } from './overview.ts';

/** Times in seconds since 1970. */
export interface StoredFacts {
  readonly publication: PublicationOverview | undefined;
  readonly expiries: ReadonlyMap<string, number>;
  /** Ends of the first tokens, by scope. */
  readonly tokens: ReadonlyMap<string, number>;
  /** Time of the last backup; 0: never. */
  readonly backup: number;
}

/** Milliseconds. */
const TIMEOUT = 3000;

/** @returns `undefined` where the database does not answer, or takes no writes */
export async function readStoredFacts(state: KeyServerState): Promise<StoredFacts | undefined> {
  if (await probeDatabase(state)) return undefined;
  return withinTime(TIMEOUT, () => readFacts(state)).catch(() => undefined);
}

async function readFacts(state: KeyServerState): Promise<StoredFacts> {
  const { database } = state;
  const publication = (await describePublication(state)) ?? undefined;
  const tokens = new Map<string, number>();
  // Tokens that have ended are told of where no other one is good.
  for (const { scope, expires } of (await listTokens(state)).toSorted((a, b) => b.expires - a.expires))
    if (expires > state.now() || !tokens.has(scope)) tokens.set(scope, expires);
  return {
    publication,
    expiries: publication ? await expiriesOf(database, publication) : new Map(),
    tokens,
    backup: (await lastBackup(database)) ?? 0,
  };
}

/** Takes the publisher's word first: root and timestamp are known here. */
async function expiriesOf(database: Database, publication: PublicationOverview): Promise<Map<string, number>> {
  const expiries = new Map(publication.expiries.map(({ role, expires }) => [role, expires]));
  expiries.set('timestamp', publication.expires);
  const root = await newestRoot(database);
  if (root) expiries.set('root', root.expires);
  return expiries;
}

/** Time at which `wispr admin backup` last made a copy, in seconds since 1970; `undefined`: never. */
export async function lastBackup(database: Database): Promise<number | undefined> {
  const backups = (table: string) => `SELECT time FROM ${table} WHERE action = 'backup'`;
  const sql = `SELECT max(time) AS time FROM (${backups('audit')} UNION ALL ${backups('audit_news')}) AS backups`;
  return (await database.first<{ time: number | null }>(sql))?.time ?? undefined;
}
