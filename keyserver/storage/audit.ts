/**
 * The audit trail: what was changed, when, by whom. Rows are added and never changed, and each has a hash over itself and the hash of the row
 * before: docs/admin.md, "Audit trail".
 *
 * A change notes its row in its own transaction, in `audit_news`. {@link chainAudit} moves it into `audit`, in a transaction of its own: a long
 * change, such as a list of 100,000 subscribers, would otherwise stand in the way of every other one.
 */
import { createHash } from 'node:crypto';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { canonicalJson, type Json, type JsonObject, parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import type { Database } from './database.ts';
import type { KeyServerState } from './state.ts';

/** Rows that one transaction moves. */
const BATCH = 1000;

export interface AuditRow {
  /** Number, gapless from 1. */
  readonly number: number;
  readonly time: number;
  /** `command USER`, `token NAME`, `stripe`, `operator NAME`, `reader NAME` or `server`. */
  readonly who: string;
  readonly action: string;
  /** Name of the subscriber, plan, token, operator or publisher. */
  readonly about: string;
  readonly details: JsonObject;
  /** Base64url of the SHA-256 of the row before; empty for the first one. */
  readonly previous: string;
  readonly hash: string;
}

interface StoredRow extends Omit<AuditRow, 'details'> {
  readonly details: string;
}

/** A row by which two copies of a trail are compared. */
export type AuditHead = Pick<AuditRow, 'hash' | 'number'>;

/** The same state, for what another does with it. */
export function as(state: KeyServerState, who: string): KeyServerState {
  return { ...state, actor: who };
}

/** The same state, for what a subscriber does. */
export function asReader(state: KeyServerState, name: string): KeyServerState {
  return as(state, `reader ${name}`);
}

/**
 * Notes a change, in the transaction of the change.
 *
 * @param state - says who acts
 * @param details - without secrets; members that are `null` or `undefined` are left out
 */
export async function audit(
  { database, now, actor }: Pick<KeyServerState, 'actor' | 'database' | 'now'>,
  action: string,
  about: string,
  details: Readonly<Record<string, Json | null | undefined>> = {},
): Promise<void> {
  const given = Object.entries(details).filter(([, value]) => value !== null && value !== undefined);
  const sql = 'INSERT INTO audit_news (time, who, action, about, details) VALUES (?, ?, ?, ?, ?)';
  await database.run(sql, now(), actor, action, about, textOf(Object.fromEntries(given) as JsonObject));
}

/**
 * Adds what was noted to the chain. Several processes may do it at once: a number is given once, and the second process begins again.
 *
 * @returns the last row; `undefined` where there is none
 */
export async function chainAudit(database: Database): Promise<AuditHead | undefined> {
  while ((await database.first('SELECT id FROM audit_news LIMIT 1')) && (await chainBatch(database)) === BATCH);
  return database.first<AuditHead>('SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1');
}

function chainBatch(database: Database): Promise<number> {
  return database.transaction(async () => {
    let last = await database.first<AuditHead>('SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1');
    const oldest = `SELECT id, time, who, action, about, details FROM audit_news ORDER BY id LIMIT ${BATCH}`;
    const news = await database.all<StoredRow & { id: number }>(oldest);
    for (const { id, time, who, action, about, details } of news) {
      const row = { number: (last?.number ?? 0) + 1, time, who, action, about, previous: last?.hash ?? '' };
      const hash = hashOf({ ...row, details: parsed(details) });
      const sql = 'INSERT INTO audit (number, time, who, action, about, details, hash) VALUES (?, ?, ?, ?, ?, ?, ?)';
      await database.run(sql, row.number, time, who, action, about, details, hash);
      await database.run('DELETE FROM audit_news WHERE id = ?', id);
      last = { number: row.number, hash };
    }
    return news.length;
  });
}

/** The hash of a row: SHA-256 of its canonical JSON without `hash`, as an export has it. */
export function hashOf({ number, time, who, action, about, details, previous }: Omit<AuditRow, 'hash'>): string {
  const row = { number, time, who, action, about, details, previous };
  return toBase64url(createHash('sha256').update(canonicalJson(row)).digest());
}

/** A row as a line of an export: canonical JSON. */
export function auditLine(row: AuditRow): string {
  return textOf({ ...row });
}

export interface AuditFilter {
  /** Time at which rows begin, in seconds since 1970. */
  readonly since?: number | undefined;
  readonly who?: string | undefined;
  readonly about?: string | undefined;
  readonly before?: number | undefined;
}

/** The newest rows, newest first; what was noted up to now is among them. */
export async function newestAudit(database: Database, filter: AuditFilter, most: number): Promise<AuditRow[]> {
  await chainAudit(database);
  const conditions = [
    ['audit.time >= ?', filter.since],
    ['audit.who = ?', filter.who],
    ['audit.about = ?', filter.about],
    ['audit.number < ?', filter.before],
  ] as const;
  const given = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  const where = given.length === 0 ? '' : `WHERE ${given.map(({ sql }) => sql).join(' AND ')}`;
  const values = given.map(({ value }) => value);
  return rowsOf(database, `${where} ORDER BY audit.number DESC LIMIT ?`, ...values, most);
}

/** Reads all rows from `since` on, oldest first, without holding all of them. */
export async function* auditFrom(database: Database, since = 0): AsyncGenerator<AuditRow> {
  await chainAudit(database);
  for (let after = 0; ; ) {
    const where = 'WHERE audit.number > ? AND audit.time >= ? ORDER BY audit.number LIMIT ?';
    const rows = await rowsOf(database, where, after, since, BATCH);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) return;
    after = last.number;
  }
}

async function rowsOf(database: Database, where: string, ...values: (string | number)[]): Promise<AuditRow[]> {
  const sql = `SELECT audit.number, audit.time, audit.who, audit.action, audit.about, audit.details, audit.hash,
      coalesce(earlier.hash, '') AS previous
    FROM audit LEFT JOIN audit AS earlier ON earlier.number = audit.number - 1 ${where}`;
  const rows = await database.all<StoredRow>(sql, ...values);
  return rows.map((row) => ({ ...row, details: parsed(row.details) }));
}

/** Parses details; any written into the database by hand fit no hash. */
function parsed(details: string): JsonObject {
  return (parseCanonicalJson(utf8(details)) ?? {}) as JsonObject;
}

function textOf(value: JsonObject): string {
  return fromUtf8(canonicalJson(value)) ?? '';
}
