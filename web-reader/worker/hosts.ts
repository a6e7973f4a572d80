/** In which order content hosts are asked: the publisher's, but those that failed lately come last. All are verified, so it is a matter of time only. */

/** Milliseconds for which a failure counts. */
const COUNTS_FOR = 60_000;

const failures = new Map<string, number>();

export function noteFailure(origin: string): void {
  failures.set(origin, Date.now());
}

export function inOrder(origins: readonly string[]): readonly string[] {
  const hasFailed = (origin: string) => Number(Date.now() - (failures.get(origin) ?? 0) < COUNTS_FOR);
  return origins.toSorted((one, other) => hasFailed(one) - hasFailed(other));
}
