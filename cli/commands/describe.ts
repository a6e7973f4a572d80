/** How commands write grants and times. */
import type { Grant } from '../../keyserver/subscribers.ts';

/** A day in UTC, like 2026-11-20. */
export function isoDay(time: number): string {
  return new Date(time * 1000).toISOString().slice(0, 10);
}

/** A minute in UTC, like 2026-11-20 14:05 UTC. */
export function utcMinute(time: number): string {
  return `${new Date(time * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

export function describeGrant({ pattern, until }: Grant): string {
  const sets = pattern === '*' ? 'all sets' : `sets ${pattern}`;
  return until === null ? sets : `${sets} until ${isoDay(until)}`;
}
