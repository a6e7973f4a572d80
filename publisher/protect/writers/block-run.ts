/** A few blocks of a large document: what one thread makes of it at a time. */
import { closeSync, openSync } from 'node:fs';
import { sha256 } from '#symmetric';
import { concatAll } from '../../../core/encoding/bytes.ts';
import { blockRange } from '../../../core/object/geometry.ts';
import { contentOfBlock, type SealingPlan, sealBlock, sealedBlockLength } from '../../../core/object/sealing.ts';
import type { SourceFile } from '../../site/walk.ts';
import { SourceReader } from '../source-reader.ts';
import { toOutputNow, writeFully } from './files.ts';
import type { ThreadContext } from './jobs.ts';

/** Blocks `first` to `end` (which is not in it) of a document whose content is its source as it is. */
export interface BlockRun {
  readonly source: SourceFile;
  readonly plan: SealingPlan;
  /** Where they are written: it exists already. */
  readonly file: string;
  /** What messages call it. */
  readonly shown: string;
  /** The place in that file where the payload begins. */
  readonly payloadOffset: number;
  readonly first: number;
  readonly end: number;
}

/** Reads, encrypts, digests and writes the blocks; returns their digests, one behind the other. */
export async function writeBlockRun(run: BlockRun, context: ThreadContext): Promise<Uint8Array> {
  using source = new SourceReader(run.source);
  const descriptor = toOutputNow(run.shown, () => openSync(run.file, 'r+'));
  try {
    const digests: Uint8Array[] = [];
    for (let index = run.first; index < run.end; index++) {
      context.checkNotStopped();
      const block = await makeBlock(run, index, source);
      digests.push(await sha256(block));
      const position = run.payloadOffset + blockRange(run.plan.shape, index).start;
      toOutputNow(run.shown, () => writeFully(descriptor, block, position));
    }
    source.checkUnchanged();
    return concatAll(digests);
  } finally {
    closeSync(descriptor);
  }
}

/** Used again for every block: fresh memory costs as much as a copy. A thread makes one block at a time. */
let plainMemory = new Uint8Array(0);
let sealedMemory = new Uint8Array(0);

async function makeBlock({ plan }: BlockRun, index: number, source: SourceReader): Promise<Uint8Array> {
  const { start, end } = contentOfBlock(plan, index);
  const length = sealedBlockLength(plan, index);
  if (plainMemory.length < end - start) plainMemory = Buffer.allocUnsafeSlow(end - start);
  if (sealedMemory.length < length) sealedMemory = Buffer.allocUnsafeSlow(length);
  const content = source.readAt(start, plainMemory.subarray(0, end - start));
  return sealBlock(plan, index, content, sealedMemory);
}
