/** Checks and findings of `wispr doctor`: the same for publishers and key servers. */
import { CodedError } from '../../core/errors.ts';
import { systemReason } from '../system-error.ts';
import { withinTime } from '../within-time.ts';

export interface CheckResult {
  readonly status: 'ok' | 'warning' | 'problem';
  /** Sentence about what was found, without a full stop. */
  readonly says: string;
  /** Advice in Markdown; there unless the status is `ok`. */
  readonly remedy?: string | undefined;
}

export interface Diagnosis extends CheckResult {
  /** Name of what was looked at: `clock`, `target s3://bucket`. */
  readonly check: string;
}

export interface Check {
  readonly check: string;
  /** Advice where the check itself fails with an error that knows no remedy. */
  readonly remedy: string;
  /** @param signal - ends what is under way when the time of the check is over */
  readonly run: (signal: AbortSignal) => Promise<CheckResult>;
}

/** Milliseconds for each check. */
export const CHECK_LIMIT = 10_000;

const DAY = 86_400;

export const ok = (says: string): CheckResult => ({ status: 'ok', says });
export const warning = (says: string, remedy: string): CheckResult => ({ status: 'warning', says, remedy });
export const problem = (says: string, remedy: string): CheckResult => ({ status: 'problem', says, remedy });

/** Does all checks at once. One that fails, or takes too long, is a problem, and no other one waits for it. */
export async function diagnose(checks: readonly Check[], limit = CHECK_LIMIT): Promise<Diagnosis[]> {
  return Promise.all(
    checks.map(async ({ check, remedy, run }) => {
      const finding = await withinTime(limit, run).catch((error) => failed(error, remedy));
      return { check, ...finding };
    }),
  );
}

/** Makes a finding of what a check has thrown. */
export function failed(error: unknown, remedy: string): CheckResult {
  const known = error instanceof CodedError ? error.remedy : undefined;
  return problem(systemReason(reasonFor(error)), known ?? remedy);
}

/** Finds the system's reason behind a failed `fetch`: of several addresses, the last one's. */
function reasonFor(error: unknown): unknown {
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  return cause instanceof AggregateError ? cause.errors.at(-1) : cause;
}

/** Judges what is valid until a time. @param ends - seconds since 1970, as is `now` @param days - for which it has to be good still */
export function untilEnd(ends: number, now: number, days: number, remedy: string): CheckResult {
  const says = `${ends < now ? 'ended on' : 'good until'} ${new Date(ends * 1000).toISOString().slice(0, 10)}`;
  if (ends < now) return problem(says, remedy);
  return ends < now + days * DAY ? warning(says, remedy) : ok(says);
}
