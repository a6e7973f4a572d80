/** Subscribers and their rights as CSV, which `wispr admin import` takes: {@link LIST_COLUMNS} of subscriber-list.ts. */
import { dayOf } from '../../core/keys/set-time.ts';
import type { KeyServerState } from '../storage/state.ts';
import { type DirectoryQuery, listSubscribers } from './directory.ts';
import { LIST_COLUMNS, type ListColumn } from './subscriber-list.ts';

const BATCH = 500;

interface RightRow {
  readonly subscriber: number;
  readonly seats: number | null;
  readonly plan: string | null;
  readonly pattern: string | null;
  readonly zone: string | null;
  readonly begins: number;
  readonly ends: number | null;
}

/**
 * Lists rights that stand or begin later, in lines with their ends, by name; rights that have ended, and subscribers who have none or were revoked,
 * are left out. Members of a group have those of the group, which has the line; subscriptions that a payment service keeps come from there.
 */
export async function* exportSubscribers(
  { database, now }: Pick<KeyServerState, 'database' | 'now'>,
  query: Omit<DirectoryQuery, 'after' | 'limit'> = {},
): AsyncGenerator<string> {
  yield `${LIST_COLUMNS.join(',')}\n`;
  for (let after = '', more = true; more; ) {
    const page = await listSubscribers(database, { ...query, after, limit: BATCH }, now());
    if (page.entries.length === 0) return;
    const ids = page.entries.map(({ id }) => id);
    const marks = ids.map(() => '?').join(', ');
    const sql = `SELECT subscriber, seats, plan, NULL AS pattern, zone, begins, ends FROM subscriptions
        JOIN plans ON plans.name = plan JOIN subscribers ON subscribers.id = subscriber
        WHERE subscriber IN (${marks}) AND coalesce(source, '') = '' AND (ends IS NULL OR ends > ?)
      UNION ALL SELECT subscriber, seats, NULL, pattern, NULL, granted_from, granted_until FROM grants
        JOIN subscribers ON subscribers.id = subscriber
        WHERE subscriber IN (${marks}) AND (granted_until IS NULL OR granted_until > ?)
      ORDER BY plan, pattern, begins`;
    const rows = await database.all<RightRow>(sql, ...[...ids, now(), ...ids, now()]);
    const rights = Map.groupBy(rows, ({ subscriber }) => subscriber);
    for (const { id, name, revoked } of page.entries)
      if (revoked === null) yield (rights.get(id) ?? []).map((right) => lineOf(name, right)).join('');
    more = page.more;
    after = page.entries.at(-1)?.name ?? '';
  }
}

function lineOf(name: string, { plan, pattern, zone, begins, ends, seats }: RightRow): string {
  const day = (time: number) => dayOf(time, zone ?? 'UTC');
  const fields: Record<ListColumn, string> = {
    name: csvField(name),
    plan: plan ?? '',
    sets: pattern ?? '',
    from: day(begins),
    until: ends === null ? '' : day(ends),
    seats: seats === null ? '' : String(seats),
  };
  return `${LIST_COLUMNS.map((column) => fields[column]).join(',')}\n`;
}

/** A field as RFC 4180 has it. */
export function csvField(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
