/** What the command line and a Reader that runs say to each other: one line of JSON each way. */
import type { ReaderStatus } from '../status/status.ts';

/** What can be asked of a Reader that runs. */
export type ReaderRequest =
  | { readonly do: 'status' }
  | { readonly do: 'lock' }
  | { readonly do: 'unlock'; readonly passphrase?: string };

/**
 * One line of the answer; or, with `reader-unreachable`, what became of the question. `url`: of the Reader that answered, because several may
 * run on one database.
 */
export type ReaderAnswer = { readonly url?: string } & (
  | { readonly locked: boolean; readonly status?: ReaderStatus }
  | RefusedAnswer
);

/** `code`: of docs/errors.md. `process`: of a Reader that runs here and gave no answer. `hint`: what to do about it. */
export interface RefusedAnswer {
  readonly error: string;
  readonly code: string;
  readonly process?: number;
  readonly hint?: string;
}

/** A Reader that runs gave no answer: whatever it has, it still has. */
export const UNREACHABLE = 'reader-unreachable';
