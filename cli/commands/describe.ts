/** How the key server's commands write grants and times. */
import type { Grant } from '../../keyserver/subscribers.ts';

/** A day in UTC, like 2026-11-20. */
export function isoDay(time: number): string {
  return new Date(time * 1000).toISOString().slice(0, 10);
}

export function describeGrant({ pattern, until }: Grant): string {
  const sets = pattern === '*' ? 'all sets' : `sets ${pattern}`;
  return until === null ? sets : `${sets} until ${isoDay(until)}`;
}
