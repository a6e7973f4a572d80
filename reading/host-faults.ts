/** Fault of the content host that a failure came from. The same for every reader that has several to ask. */
import { CodedError } from '../core/errors.ts';

/** `dead`: it did not answer, or broke off. `wrong`: it gave other bytes than were signed. */
export type FailureFault = 'dead' | 'wrong';

const FAULTS: Readonly<Record<string, FailureFault>> = {
  'content-host-unreachable': 'dead',
  'content-host-answer': 'dead',
  'object-missing': 'dead',
  'object-truncated': 'dead',
  'head-unexpected': 'wrong',
  'object-trailing': 'wrong',
  'block-digest': 'wrong',
  'object-unrecognised': 'wrong',
};

/** The fault of the host; `undefined`: none, so another host would not help. */
export function faultOf(error: unknown): FailureFault | undefined {
  return error instanceof CodedError ? FAULTS[error.code] : undefined;
}

/** Chooses the failure to report: a host with another object says more than one without an answer, for there may be a newer publication. */
export function moreTelling(one: unknown, other: unknown): unknown {
  return rank(other) >= rank(one) ? other : one;
}

function rank(error: unknown): number {
  const { code } = error as { code?: string };
  if (code === 'content-host-unreachable') return 0;
  if (code === 'content-host-answer') return 1;
  return code === 'object-missing' ? 2 : 3;
}
