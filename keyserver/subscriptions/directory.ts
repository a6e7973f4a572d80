/** The subscribers in pages, by name: searched and filtered, however many there are. */
import { countRows, type Database } from '../storage/database.ts';
import { nameKey } from './subscribers.ts';

/**
 * `active`: has been here, and has a right that stands or begins later. `invited`: has such a right, and never came. `lapsed`: has none.
 * `revoked`: the access was withdrawn.
 */
export const SUBSCRIBER_STATES = ['active', 'invited', 'lapsed', 'revoked'] as const;
export type SubscriberState = (typeof SUBSCRIBER_STATES)[number];

/** `bounced`: whatever the state, the mail server refused the address for good. */
export const DIRECTORY_FILTERS = [...SUBSCRIBER_STATES, 'bounced'] as const;
export type DirectoryFilter = (typeof DIRECTORY_FILTERS)[number];

const DAY = 86_400;

const PAGE_LENGTH = 50;

export interface DirectoryQuery {
  /** Part of the name, whatever the case. */
  readonly search?: string | undefined;
  /** Name of a plan: those who subscribe to it, or did. */
  readonly plan?: string | undefined;
  readonly state?: DirectoryFilter | undefined;
  readonly after?: string | undefined;
  readonly limit?: number;
}

/** Times in seconds since 1970. */
export interface DirectoryEntry {
  readonly id: number;
  readonly name: string;
  readonly state: SubscriberState;
  readonly created: number;
  readonly revoked: number | null;
  /** Title of a plan that is subscribed to, or was last; `null` where only sets were granted. */
  readonly plan: string | null;
  /** Number of rights beside it. */
  readonly more: number;
  /** The latest end of a right; `null`: without end, `undefined`: there is no right. */
  readonly until: number | null | undefined;
  readonly devices: number;
  readonly lastSeen: number | null;
}

export interface DirectoryPage {
  readonly entries: readonly DirectoryEntry[];
  readonly more: boolean;
}

const STANDS = `(EXISTS (SELECT 1 FROM subscriptions WHERE subscriber = s.id AND (ends IS NULL OR ends >= ?))
  OR EXISTS (SELECT 1 FROM grants WHERE subscriber = s.id AND (granted_until IS NULL OR granted_until >= ?)))`;
const CAME = `(EXISTS (SELECT 1 FROM devices WHERE subscriber = s.id) OR EXISTS (SELECT 1 FROM accounts WHERE subscriber = s.id)
  OR EXISTS (SELECT 1 FROM sessions WHERE subscriber = s.id))`;

/** SQL about the subscriber `s`. Each takes the time as often as it has a `?`. */
export const DIRECTORY_CONDITIONS: Readonly<Record<DirectoryFilter, string>> = {
  active: `revoked IS NULL AND ${STANDS} AND ${CAME}`,
  invited: `revoked IS NULL AND ${STANDS} AND NOT ${CAME}`,
  lapsed: `revoked IS NULL AND NOT ${STANDS}`,
  revoked: 'revoked IS NOT NULL',
  bounced: 'EXISTS (SELECT 1 FROM mailings WHERE subscriber = s.id AND refusal IS NOT NULL)',
};

/** An end that is later than all others: sorts as "without end". */
const NEVER = Number.MAX_SAFE_INTEGER;

interface Row {
  readonly id: number;
  readonly name: string;
  readonly created: number;
  readonly revoked: number | null;
  readonly stands: number;
  readonly came: number;
  readonly plan: string | null;
  readonly rights: number;
  readonly until: number | null;
  readonly devices: number;
  readonly lastSeen: number | null;
}

/** A page of subscribers, by name. */
export async function listSubscribers(
  database: Database,
  { search = '', plan, state, after = '', limit = PAGE_LENGTH }: DirectoryQuery,
  now: number,
): Promise<DirectoryPage> {
  const conditions = ['name_key > ?'];
  const values: (string | number)[] = [nameKey(after)];
  if (search !== '') {
    conditions.push(`(name_key LIKE ? ESCAPE '!' OR name LIKE ? ESCAPE '!')`); // domains are found in ASCII and as typed
    for (const text of [nameKey(search), search]) values.push(`%${text.replace(/[!%_]/g, '!$&')}%`);
  }
  if (plan !== undefined) {
    conditions.push('EXISTS (SELECT 1 FROM subscriptions WHERE subscriber = s.id AND plan = ?)');
    values.push(plan);
  }
  if (state !== undefined) {
    conditions.push(DIRECTORY_CONDITIONS[state]);
    if (DIRECTORY_CONDITIONS[state].includes('?')) values.push(now, now);
  }
  const page = `SELECT id, name, name_key, created, revoked FROM subscribers AS s WHERE ${conditions.join(' AND ')} ORDER BY name_key LIMIT ?`;
  const rows = await database.all<Row>(describing(page), NEVER, NEVER, now, now, ...values, limit + 1);
  return { entries: rows.slice(0, limit).map(entryOf), more: rows.length > limit };
}

/** Makes SQL for what is shown of the subscribers of a page. It is looked up for these only. */
function describing(page: string): string {
  return `SELECT id, name, created, revoked,
    (SELECT title FROM plans WHERE name = (SELECT plan FROM subscriptions WHERE subscriber = s.id
      ORDER BY coalesce(ends, ?) DESC, plan LIMIT 1)) AS plan,
    (SELECT count(*) FROM subscriptions WHERE subscriber = s.id) + (SELECT count(*) FROM grants WHERE subscriber = s.id) AS rights,
    (SELECT max(ends) FROM (
      SELECT coalesce(ends, ${NEVER}) AS ends FROM subscriptions WHERE subscriber = s.id
      UNION ALL SELECT coalesce(granted_until, ?) FROM grants WHERE subscriber = s.id) AS ended) AS until,
    (SELECT count(*) FROM devices WHERE subscriber = s.id AND revoked IS NULL) AS devices,
    (SELECT max(last_seen) FROM devices WHERE subscriber = s.id) AS "lastSeen",
    CASE WHEN ${STANDS} THEN 1 ELSE 0 END AS stands, CASE WHEN ${CAME} THEN 1 ELSE 0 END AS came
    FROM (${page}) AS s ORDER BY name_key`;
}

function entryOf({ stands, came, rights, plan, until, ...row }: Row): DirectoryEntry {
  const state = row.revoked !== null ? 'revoked' : !stands ? 'lapsed' : came ? 'active' : 'invited';
  const end = until === null ? undefined : until === NEVER ? null : until;
  return { ...row, state, plan, more: rights - (plan === null ? 0 : 1), until: end };
}

/** Number of subscribers in each state, and of new ones. */
export interface SubscriberCounts extends Readonly<Record<SubscriberState, number>> {
  readonly recent: number;
  /** Subscribers one of whose devices was seen in the last day: browsers, and Readers. */
  readonly reading: number;
  readonly readingInBrowsers: number;
}

/** Subscribers that one statement counts: an SQLite database answers nothing else meanwhile. */
const SLICE = 10_000;

/** Goes through all of them, in slices: its caller keeps the answer for a while. */
export async function countSubscribers(database: Database, now: number): Promise<SubscriberCounts> {
  const last = (await database.first<{ id: number | null }>('SELECT max(id) AS id FROM subscribers'))?.id ?? 0;
  const sum = { active: 0, invited: 0, lapsed: 0, revoked: 0, recent: 0 };
  for (let start = 0; start < last; start += SLICE) {
    const values = [now, now, now, now, now - 30 * DAY, start, start + SLICE];
    const row = await database.first<Slice>(COUNT, ...values);
    if (!row) continue;
    sum.active += row.active;
    sum.invited += row.stand - row.active;
    sum.lapsed += row.n - row.revoked - row.stand;
    sum.revoked += row.revoked;
    sum.recent += row.recent;
  }
  const seen = (more: string) =>
    countRows(database, `(SELECT DISTINCT subscriber FROM devices WHERE last_seen >= ?${more}) AS seen`, now - DAY);
  return { ...sum, reading: await seen(''), readingInBrowsers: await seen(" AND kind = 'browser'") };
}

type Slice = Readonly<Record<'active' | 'n' | 'recent' | 'revoked' | 'stand', number>>;

const COUNT = `SELECT count(*) AS n, ${sumOf('revoked IS NOT NULL')} AS revoked, ${sumOf(`revoked IS NULL AND ${STANDS}`)} AS stand,
  ${sumOf(DIRECTORY_CONDITIONS.active)} AS active, ${sumOf('created >= ?')} AS recent FROM subscribers AS s WHERE id > ? AND id <= ?`;

function sumOf(condition: string): string {
  return `coalesce(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END), 0)`;
}
