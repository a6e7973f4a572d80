/** Takes a whole list of subscribers at once: all of it, or nothing. */
import { createHash } from 'node:crypto';
import { daySpan } from '../../core/keys/set-time.ts';
import { KeyServerError } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { listPlans } from '../subscriptions/plans.ts';
import { setSeats } from '../subscriptions/seats.ts';
import { type ListedSubscriber, type ListProblem, parseSubscriberList } from '../subscriptions/subscriber-list.ts';
import { findSubscriber } from '../subscriptions/subscribers.ts';
import { type Subscribed, subscribe } from '../subscriptions/subscriptions.ts';
import { createCode, createSubscriber, grant } from './invitations.ts';

const DAY = 86_400;

export interface ImportOptions {
  /** Nothing is changed. */
  readonly dryRun?: boolean;
  /** Makes an invitation, good for so many days, for each subscriber who is new. */
  readonly inviteFor?: number | undefined;
  /** Called now and then. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface ImportOutcome extends Readonly<Record<Subscribed, number>> {
  /** Subscribers who are new. */
  readonly created: number;
  /** Names of subscribers who were revoked: the list does not undo that. */
  readonly revoked: readonly string[];
  readonly invitations: readonly { readonly name: string; readonly code: string }[];
}

/** Lines of the list are wrong: nothing was changed. */
export class ListRefused extends KeyServerError {
  readonly problems: readonly ListProblem[];

  constructor(problems: readonly ListProblem[]) {
    super('argument-invalid', `${problems.length} of the lines cannot be taken, so nothing was changed`);
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

/**
 * Imports a list.
 *
 * @param bytes - of the file: subscriber-list.ts
 * @throws ListRefused; KeyServerError `argument-invalid`
 */
export async function importSubscribers(
  state: KeyServerState,
  bytes: Uint8Array,
  options: ImportOptions = {},
): Promise<ImportOutcome> {
  const { database } = state;
  const zones = new Map((await listPlans(state)).map(({ name, zone }) => [name, zone ?? 'UTC']));
  const { subscribers, problems } = parseSubscriberList(bytes, new Set(zones.keys()));
  if (problems.length > 0) throw new ListRefused(problems);
  try {
    return await database.transaction(async () => {
      const outcome = await importAll(state, subscribers, zones, options);
      if (options.dryRun) throw new DryRun(outcome);
      const { revoked: _, invitations, ...counts } = outcome;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await audit(state, 'import-list', '', { ...counts, invited: invitations.length, sha256 });
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
): Promise<ImportOutcome> {
  const { database, now } = state;
  const counts = { begun: 0, moved: 0, unchanged: 0, created: 0 };
  const revoked: string[] = [];
  const invitations: { name: string; code: string }[] = [];
  const spans = new Map<string, { start: number; end: number }>();
  const spanOf = (date: string, zone: string) => {
    const key = `${date} ${zone}`;
    const span = spans.get(key) ?? daySpan(date, zone);
    if (!span) throw new RangeError('a list was read with a day that there is not');
    spans.set(key, span);
    return span;
  };
  for (const [index, { name, plan, sets, from, until, seats }] of subscribers.entries()) {
    if (index % 1000 === 0) onProgress?.(index, subscribers.length);
    const known = await findSubscriber(database, name);
    if (known && known.revoked !== null) {
      revoked.push(known.name);
      continue;
    }
    const id = known?.id ?? (await createSubscriber(database, name, now()));
    if (!known) {
      counts.created++;
      if (inviteFor !== undefined)
        invitations.push({ name, code: await createCode(database, id, now() + inviteFor * DAY) });
    }
    if (seats !== undefined) await setSeats(database, { id, name }, seats);
    const zone = (plan && zones.get(plan)) ?? 'UTC';
    const begins = from === undefined ? now() : spanOf(from, zone).start;
    const ends = until === undefined ? null : spanOf(until, zone).end - 1;
    if (plan !== undefined) counts[await subscribe(database, id, plan, begins, ends)]++;
    else {
      await grant(database, id, sets, ends ?? undefined, begins);
      counts.begun++;
    }
  }
  return { ...counts, revoked, invitations };
}
