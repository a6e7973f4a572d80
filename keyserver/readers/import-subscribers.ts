/** Takes a whole list of subscribers at once: all of it, or nothing. */
import { createHash } from 'node:crypto';
import { daySpan } from '../../core/keys/set-time.ts';
import { KeyServerError, mistyped, unfit } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { listPlans } from '../subscriptions/plans.ts';
import { setSeats } from '../subscriptions/seats.ts';
import {
  type ListedSubscriber,
  type ListProblem,
  type ListReading,
  parseSubscriberList,
} from '../subscriptions/subscriber-list.ts';
import { findSubscriber, nameKey } from '../subscriptions/subscribers.ts';
import { type Subscribed, subscribe } from '../subscriptions/subscriptions.ts';
import { createCode, createSubscriber, grant } from './invitations.ts';

const DAY = 86_400;

export interface ImportOptions extends ListReading {
  readonly dryRun?: boolean;
  /** Makes an invitation, good for so many days, for each subscriber who is new. */
  readonly inviteFor?: number | undefined;
  /** Takes the lines that are right where others are not. */
  readonly skipWrong?: boolean;
  /**
   * Ends the subscriptions of those whom the list does not name any more: `most-stay` refuses to end more than half of them. Only those to plans that
   * the list names, and that were not begun by a payment service.
   */
  readonly endMissing?: 'any' | 'most-stay' | undefined;
  /** Called with what was made before that counts: if it throws, nothing is changed. A second call is for another attempt, in place of the first. */
  readonly keep?: (outcome: ImportOutcome) => Promise<void>;
  readonly onProgress?: (done: number, total: number) => void;
}

/** The invitation of a subscriber who is new, with the right of the first line about them. */
export interface ListedInvitation {
  readonly name: string;
  readonly code: string;
  readonly expires: number;
  readonly plan: string | null;
  readonly seats: number | null;
}

export interface ImportOutcome extends Readonly<Record<Subscribed, number>> {
  readonly created: number;
  /** Subscribers whose subscriptions ended, because the list names them no more; twice, where two did. */
  readonly ended: readonly string[];
  /** Subscribers whom the list does not name either, and who have another name since: it may have the earlier one, so that nothing ended. */
  readonly renamed: readonly string[];
  readonly problems: readonly ListProblem[];
  readonly ignored: readonly string[];
  /** Names of subscribers who were revoked: the list does not undo that. */
  readonly revoked: readonly string[];
  readonly invitations: readonly ListedInvitation[];
}

/** Lines of the list are wrong: nothing was changed. */
export class ListRefused extends KeyServerError {
  readonly problems: readonly ListProblem[];

  constructor(problems: readonly ListProblem[]) {
    super(
      'argument-invalid',
      `${problems.length} of the lines cannot be taken, so nothing was changed; with --skip-wrong, the others are taken`,
    );
    this.problems = problems;
  }
}

/** Thrown to leave the database as it was. */
class DryRun extends Error {
  readonly outcome: ImportOutcome;

  constructor(outcome: ImportOutcome) {
    super('dry run');
    this.outcome = outcome;
  }
}

/** Imports a list. @param bytes - of the file: subscriber-list.ts @throws ListRefused; KeyServerError `argument-invalid` */
export async function importSubscribers(
  state: KeyServerState,
  bytes: Uint8Array,
  options: ImportOptions = {},
): Promise<ImportOutcome> {
  const { database } = state;
  const zones = new Map((await listPlans(state)).map(({ name, zone }) => [name, zone ?? 'UTC']));
  if (options.endMissing && options.skipWrong)
    throw mistyped('a list with wrong lines ends no subscription: their names are not known');
  const { subscribers, problems: malformed, ignored } = parseSubscriberList(bytes, new Set(zones.keys()), options);
  if (malformed.length > 0 && !options.skipWrong) throw new ListRefused(malformed);
  try {
    return await database.transaction(async () => {
      // Subscriptions end before others begin: those would make a list of other people look whole.
      const left = options.endMissing ? await endMissing(state, subscribers, options) : { ended: [], renamed: [] };
      const { over, ...taken } = await importAll(state, subscribers, zones, options);
      if (over.length > 0 && !options.skipWrong) throw new ListRefused(over);
      const problems = [...malformed, ...over];
      const outcome = { ...taken, ...left, problems, ignored };
      if (options.dryRun) throw new DryRun(outcome);
      const { revoked: _, invitations, ...counts } = taken;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const others = { ended: left.ended.length, invited: invitations.length, sha256 };
      await audit(state, 'import-list', '', { ...counts, ...others });
      await options.keep?.(outcome);
      return outcome;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.outcome;
    throw error;
  }
}

async function importAll(
  state: KeyServerState,
  subscribers: readonly ListedSubscriber[],
  zones: ReadonlyMap<string, string>,
  { inviteFor, onProgress }: ImportOptions,
): Promise<Omit<ImportOutcome, 'ended' | 'ignored' | 'problems' | 'renamed'> & { readonly over: ListProblem[] }> {
  const { database, now } = state;
  const counts = { begun: 0, moved: 0, unchanged: 0, created: 0 };
  const revoked: string[] = [];
  const over: ListProblem[] = [];
  const invitations: ListedInvitation[] = [];
  const spans = new Map<string, { start: number; end: number }>();
  const spanOf = (date: string, zone: string) => {
    const key = `${date} ${zone}`;
    const span = spans.get(key) ?? daySpan(date, zone);
    if (!span) throw new RangeError('a list was read with a day that there is not');
    spans.set(key, span);
    return span;
  };
  for (const [index, { line, name, plan, sets, from, until, seats }] of subscribers.entries()) {
    if (index % 1000 === 0) onProgress?.(index, subscribers.length);
    const zone = (plan && zones.get(plan)) ?? 'UTC';
    const begins = from === undefined ? now() : spanOf(from, zone).start;
    const ends = until === undefined ? null : spanOf(until, zone).end - 1;
    if (ends !== null && ends <= begins) {
      over.push({ line, problem: 'it is over, and names no "from": leave it out' });
      continue;
    }
    const known = await findSubscriber(database, name);
    if (known && known.revoked !== null) {
      revoked.push(known.name);
      continue;
    }
    const id = known?.id ?? (await createSubscriber(database, name, now()));
    if (!known) {
      counts.created++;
      if (inviteFor !== undefined) {
        const expires = now() + inviteFor * DAY;
        const code = await createCode(database, id, expires);
        invitations.push({ name, code, expires, plan: plan ?? null, seats: seats ?? null });
      }
    }
    if (seats !== undefined) await setSeats(database, { id, name }, seats);
    if (plan !== undefined) counts[await subscribe(database, id, plan, begins, ends)]++;
    else {
      await grant(database, id, sets, ends ?? undefined, begins);
      counts.begun++;
    }
  }
  return { ...counts, revoked, invitations, over };
}

/** Ends subscriptions of subscribers who are not listed. @throws KeyServerError `argument-invalid` for more than half */
async function endMissing(
  { database, now }: KeyServerState,
  listed: readonly ListedSubscriber[],
  { endMissing: most, plan: standard }: ImportOptions,
): Promise<Pick<ImportOutcome, 'ended' | 'renamed'>> {
  const stay = new Set(listed.map(({ name, plan }) => `${plan} ${nameKey(name)}`));
  const plans = [...new Set([...listed.flatMap(({ plan }) => plan ?? []), ...(standard ? [standard] : [])])];
  if (plans.length === 0) return { ended: [], renamed: [] };
  const sql = `SELECT subscriptions.id, plan, begins, name, name_key AS key FROM subscriptions
    JOIN subscribers ON subscribers.id = subscriber
    WHERE plan IN (${plans.map(() => '?').join(', ')}) AND coalesce(source, '') = '' AND revoked IS NULL AND (ends IS NULL OR ends > ?)`;
  const standing = await database.all<{ id: number; plan: string; begins: number; name: string; key: string }>(
    sql,
    ...plans,
    now(),
  );
  const renamings = (table: string) => `SELECT about AS name FROM ${table} WHERE action = 'rename'`;
  const renamed = await database.all<{ name: string }>(`${renamings('audit')} UNION ${renamings('audit_news')}`);
  const hasOther = new Set(renamed.map(({ name }) => nameKey(name)));
  const unlisted = standing.filter(({ plan, key }) => !stay.has(`${plan} ${key}`));
  const missing = unlisted.filter(({ key }) => !hasOther.has(key));
  if (most === 'most-stay' && missing.length * 2 > standing.length)
    throw unfit(
      `the list would end ${missing.length} of ${standing.length} subscriptions: is it whole? With --yes, they end`,
    );
  for (const { id, begins } of missing) {
    if (begins >= now()) await database.run('DELETE FROM subscriptions WHERE id = ?', id);
    else await database.run('UPDATE subscriptions SET ends = ? WHERE id = ?', now(), id);
  }
  const kept = unlisted.filter(({ key }) => hasOther.has(key));
  return { ended: missing.map(({ name }) => name), renamed: kept.map(({ name }) => name) };
}
