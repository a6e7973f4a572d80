/** The time by this machine's clock, in seconds since 1970. `core/` never looks at it: whoever calls says what time it is. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
