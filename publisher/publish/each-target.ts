/** Does the same at every target. One that fails keeps none of the others waiting. */
import { CodedError } from '../../core/errors.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { withinTime } from '../../node-support/within-time.ts';
import { stopped } from '../errors.ts';

export interface Failed {
  readonly target: Target;
  readonly failure: CodedError;
}

export interface Outcomes<Value> {
  readonly done: ReadonlyMap<Target, Value>;
  readonly failures: readonly Failed[];
}

export interface EachTargetOptions {
  /** Milliseconds for each target. Default: no limit */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
  /** State that readers find if the work is stopped. Default: the previous publication */
  readonly state?: string;
}

/**
 * @param work - rejects with coded errors where only this target is at fault
 * @throws PublishError `stopped`; errors without a code
 */
export async function eachTarget<Value>(
  targets: readonly Target[],
  work: (target: Target) => Promise<Value>,
  { limit, signal, state }: EachTargetOptions = {},
): Promise<Outcomes<Value>> {
  const one = async (target: Target): Promise<{ readonly target: Target; readonly value: Value } | Failed> => {
    const close = () => target.close();
    signal?.addEventListener('abort', close, { once: true });
    try {
      checkNotStopped(signal, state);
      return { target, value: await (limit === undefined ? work(target) : inTime(target, limit, work)) };
    } catch (error) {
      checkNotStopped(signal, state);
      if (!(error instanceof CodedError)) throw error;
      return { target, failure: error };
    } finally {
      signal?.removeEventListener('abort', close);
    }
  };
  const outcomes = await Promise.all(targets.map(one));
  return {
    done: new Map(outcomes.flatMap((one) => ('value' in one ? [[one.target, one.value]] : []))),
    failures: outcomes.filter((one) => 'failure' in one),
  };
}

/** @throws PublishError `stopped` */
export function checkNotStopped(signal: AbortSignal | undefined, state?: string): void {
  if (signal?.aborted) throw stopped(state);
}

async function inTime<Value>(target: Target, limit: number, work: (target: Target) => Promise<Value>): Promise<Value> {
  const late = AbortSignal.timeout(limit);
  try {
    return await withinTime(limit, () => work(target));
  } catch (error) {
    if (error instanceof CodedError || !late.aborted) throw error;
    target.close(); // ends what is still waiting for an answer
    throw new StorageError('target-unreachable', `${target.name} did not answer within ${limit / 1000} seconds`, {
      cause: error,
      fields: { target: target.name },
    });
  }
}
