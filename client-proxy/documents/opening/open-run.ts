/** Opens the blocks of a run, on whatever thread this is called. */
import { readSync } from 'node:fs';
import { openBlock } from '../../../core/object/block-run.ts';
import { ObjectError } from '../../../core/object/errors.ts';
import { blockRange } from '../../../core/object/geometry.ts';
import { answerToNothing, type OpeningAnswer, type OpeningJob } from './jobs.ts';

/** Used again for every block out of a file: fresh memory costs as much as a copy. */
let blockMemory = new Uint8Array(0);

/** Never throws what a check says; anything else is a fault of this program, and ends the thread. One call at a time. */
export async function openRun(job: OpeningJob): Promise<OpeningAnswer> {
  const { run } = job;
  const answer = answerToNothing(job);
  let length = 0;
  for (let index = run.first; index < run.end; index++) {
    try {
      const free = new Uint8Array(answer.target, length);
      const message = await openBlock(run, index, blockOf(job, index, free), free);
      if (message.buffer !== free.buffer || message.byteOffset !== free.byteOffset) free.set(message);
      length += message.length;
    } catch (error) {
      if (!(error instanceof ObjectError)) throw error;
      const { code, message } = error;
      return { ...answer, passed: index - run.first, length, failure: { code, message } };
    }
  }
  return { ...answer, passed: run.end - run.first, length };
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

/** Whether all of it was there, and could be read. */
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
