/** Begins and ends subscriptions in the name of a subscriber: for the API, and for operators. */
import { daySpan } from '../../core/keys/set-time.ts';
import { mistyped } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findPlan, noPlan } from '../subscriptions/plans.ts';
import { seatsOf, setSeats } from '../subscriptions/seats.ts';
import { knownSubscriber, parseSubscriberName } from '../subscriptions/subscribers.ts';
import { endSubscriptions, type Subscribed, subscribe } from '../subscriptions/subscriptions.ts';
import { admitSubscriber } from './invitations.ts';

/** Days such as `2026-11-30`, of the plan's time zone. */
export interface Subscribing {
  readonly subscriber: string;
  readonly plan: string;
  /** First day; left out: from now on. */
  readonly from?: string | undefined;
  /** Last day; left out: without end. */
  readonly until?: string | null | undefined;
  /** Makes it a group, or changes how many members it can have. */
  readonly seats?: number | undefined;
}

/**
 * Begins a subscription, or moves its end. A subscriber who is unknown or was revoked starts anew.
 *
 * @throws KeyServerError `argument-invalid`
 */
export async function beginSubscription(
  state: KeyServerState,
  request: Subscribing,
): Promise<{ readonly outcome: Subscribed; readonly created: boolean }> {
  const { database, now } = state;
  const name = parseSubscriberName(request.subscriber);
  return database.transaction(async () => {
    const wanted = await findPlan(database, request.plan);
    if (!wanted) throw noPlan(request.plan);
    const zone = wanted.zone ?? 'UTC';
    const from = request.from === undefined ? now() : spanOf(request.from, zone).start;
    const until = typeof request.until === 'string' ? spanOf(request.until, zone).end - 1 : null;
    const { id, known, anew } = await admitSubscriber(database, name, now());
    const { seats } = request;
    const isOther = seats !== undefined && seats !== (await seatsOf(state, id))?.seats;
    if (isOther) await setSeats(database, { id, name: known?.name ?? name }, seats);
    const outcome = await subscribe(database, id, wanted.name, from, until);
    if (outcome !== 'unchanged' || isOther)
      await audit(state, 'begin', known?.name ?? name, { plan: wanted.name, outcome, from, until, seats });
    return { outcome, created: anew };
  });
}

/**
 * Ends subscriptions now. What a dated plan gave for ever stays.
 *
 * @param plan - this one only
 * @returns how many
 * @throws KeyServerError `no-such-subscriber`
 */
export async function endSubscription(state: KeyServerState, subscriber: string, plan?: string): Promise<number> {
  const { database, now } = state;
  return database.transaction(async () => {
    const { id, name } = await knownSubscriber(database, subscriber);
    const ended = await endSubscriptions(database, id, now(), plan);
    if (ended > 0) await audit(state, 'end', name, { plan, ended });
    return ended;
  });
}

function spanOf(day: string, zone: string) {
  const span = daySpan(day, zone);
  if (span) return span;
  throw mistyped('there is no such day');
}
