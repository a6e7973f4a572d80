/** The time by this machine's clock, in seconds since 1970. `core/` never reads it: callers pass the time. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
