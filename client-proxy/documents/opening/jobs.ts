/** What goes to a thread that opens blocks, and what comes back: plain data. Keys cross in messages only, and memory changes hands with them. */
import type { BlockRun } from '../../../core/object/block-run.ts';
import type { ObjectErrorCode } from '../../../core/object/errors.ts';

/** Where the blocks of a run lie in a file. Who asks keeps it open until the answer is there. */
export interface InFile {
  readonly descriptor: number;
  readonly position: number;
}

export interface OpeningJob {
  readonly run: BlockRun;
  /** The blocks, one behind the other, from the beginning of the memory or from a place in a file. */
  readonly sealed: InFile | ArrayBuffer;
  /** Memory for the message, which is nowhere longer than its blocks; that of the blocks, if left out, which are gone then. */
  readonly target?: ArrayBuffer | undefined;
}

/** What has passed every check; nothing behind it may be used. */
export interface OpeningAnswer {
  /** Blocks that have passed, from the first one on. */
  readonly passed: number;
  /** Bytes of message, from the beginning of `target`. */
  readonly length: number;
  /** Why not all have. */
  readonly failure: { readonly code: ObjectErrorCode; readonly message: string } | undefined;
  /** What came with the job; `sealed` only where the blocks are still in it. */
  readonly target: ArrayBuffer;
  readonly sealed: ArrayBuffer | undefined;
}

/**
 * What nothing has passed of yet.
 *
 * @throws Error where there is no memory to open blocks in
 */
export function answerToNothing({ sealed, target }: Omit<OpeningJob, 'run'>): OpeningAnswer {
  const memory = sealed instanceof ArrayBuffer ? sealed : undefined;
  const where = target ?? memory;
  if (where === undefined) throw new Error('blocks in a file are opened in other memory');
  return { passed: 0, length: 0, failure: undefined, target: where, sealed: target && memory };
}
