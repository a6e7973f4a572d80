/** A thread that opens blocks. Jobs are answered in their order; memory changes hands with the messages. */
import { readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { type BlockRun, openBlock } from '../../../core/object/block-run.ts';
import { ObjectError, type ObjectErrorCode } from '../../../core/object/errors.ts';
import { blockRange } from '../../../core/object/geometry.ts';

/** Place of the blocks of a run in a file. The asker keeps it open until the answer is there. */
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

/** Verified part of the output; nothing behind it may be used. */
export interface OpeningAnswer {
  /** Blocks that have passed, from the first one on. */
  readonly passed: number;
  /** Bytes of message, from the beginning of `target`. */
  readonly length: number;
  readonly failure?: { readonly code: ObjectErrorCode; readonly message: string };
  /** Memory that came with the job; `sealed` only where the blocks are still in it. */
  readonly target: ArrayBuffer;
  readonly sealed: ArrayBuffer | undefined;
}

/** Used again for every block out of a file: fresh memory costs as much as a copy. */
let blockMemory = new Uint8Array(0);

let turn = Promise.resolve();
parentPort?.on('message', (job: OpeningJob | undefined) => {
  if (job === undefined) return parentPort?.close(); // nothing more
  turn = turn.then(async () => {
    const answer = await openRun(job);
    const memory = answer.sealed === undefined ? [answer.target] : [answer.target, answer.sealed];
    parentPort?.postMessage(answer, memory);
  });
});

/** Opens a run, one call at a time. Never throws what a check says; anything else is a fault of this program, and ends the thread. */
async function openRun(job: OpeningJob): Promise<OpeningAnswer> {
  const { run } = job;
  const sealed = job.sealed instanceof ArrayBuffer ? job.sealed : undefined;
  const target = job.target ?? sealed;
  if (target === undefined) throw new Error('blocks in a file are opened in other memory');
  const memory = { target, sealed: job.target && sealed };
  let length = 0;
  for (let index = run.first; index < run.end; index++) {
    try {
      const free = new Uint8Array(target, length);
      const message = await openBlock(run, index, blockOf(job, index, free), free);
      if (message.buffer !== free.buffer || message.byteOffset !== free.byteOffset) free.set(message);
      length += message.length;
    } catch (error) {
      if (!(error instanceof ObjectError)) throw error;
      const { code, message } = error;
      return { ...memory, passed: index - run.first, length, failure: { code, message } };
    }
  }
  return { ...memory, passed: run.end - run.first, length };
}

/** @param free - where a signed document's block out of a file is read to, because it is its own message */
function blockOf({ run, sealed }: OpeningJob, index: number, free: Uint8Array): Uint8Array {
  const { start, end } = blockRange(run.shape, index);
  const offset = start - blockRange(run.shape, run.first).start;
  const length = end - start;
  if (sealed instanceof ArrayBuffer) return new Uint8Array(sealed, offset, length);
  if (blockMemory.length < length && run.keys) blockMemory = new Uint8Array(length);
  const block = run.keys ? blockMemory.subarray(0, length) : free.subarray(0, length);
  if (!readWhole(sealed.descriptor, block, sealed.position + offset))
    throw new ObjectError('object-truncated', `the object ends inside block ${index}`);
  return block;
}

/** Tells whether all of it was there, and could be read. */
function readWhole(descriptor: number, target: Uint8Array, position: number): boolean {
  try {
    for (let filled = 0; filled < target.length; ) {
      const count = readSync(descriptor, target, filled, target.length - filled, position + filled);
      if (count === 0) return false;
      filled += count;
    }
    return true;
  } catch {
    return false;
  }
}
