/** The time by this machine's clock, in seconds since 1970. `core/` never reads it: callers pass the time. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** Writes a time to the minute, like `2026-11-20 14:05 UTC`. @param time - in seconds since 1970 */
export function utcMinute(time: number): string {
  return `${new Date(time * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
