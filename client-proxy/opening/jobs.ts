/** What goes to a thread that opens blocks, and what comes back: plain data. Keys cross in messages only, and memory changes hands with them. */
import type { BlockRun } from '../../core/object/block-run.ts';
import type { ObjectErrorCode } from '../../core/object/errors.ts';

/** Where the blocks of a run lie in a file. Who asks keeps it open until the answer is there. */
export interface InFile {
  readonly descriptor: number;
  readonly position: number;
}

export interface OpeningJob {
  readonly run: BlockRun;
  /** The blocks, one behind the other, from the beginning of the memory or from a place in a file. */
  readonly sealed: InFile | ArrayBuffer;
  /** Memory for the message, which is nowhere longer than its blocks. */
  readonly target: ArrayBuffer;
}

/** What has passed every check; nothing behind it may be used. */
export interface OpeningAnswer {
  /** Blocks that have passed, from the first one on. */
  readonly passed: number;
  /** Bytes of message, from the beginning of `target`. */
  readonly length: number;
  /** Why not all have. */
  readonly failure: { readonly code: ObjectErrorCode; readonly message: string } | undefined;
  /** What came with the job. */
  readonly target: ArrayBuffer;
  readonly sealed: ArrayBuffer | undefined;
}
