/** A large document whose content is its source as it is: cut into runs of blocks, which all threads read, encrypt and write at the same time. */
import { closeSync, openSync } from 'node:fs';
import { sha256 } from '#symmetric';
import { concatAll } from '../../../core/encoding/bytes.ts';
import { blockCount, blockRange } from '../../../core/object/geometry.ts';
import { contentOfBlock, sealBlock, sealedBlockLength } from '../../../core/object/sealing.ts';
import type { ObjectWriter } from '../../../core/object/writer.ts';
import { forEachInFlight } from '../../../node-support/in-flight.ts';
import { isPlain, plainMetadata, SMALL_FILE } from '../content.ts';
import { SourceReader } from '../source-reader.ts';
import { shownFile, TemporaryFile, toOutput, writeFully } from './files.ts';
import type { BlockRun, JobPool, ThreadContext, WriteTask, WrittenDocument } from './jobs.ts';
import { contentOptions, keepObject, objectWriterOf } from './write-document.ts';

/** Bytes of content in a run: enough that opening files costs nothing beside it. */
const RUN_LENGTH = 4 * 1024 * 1024;

/** Runs under way or waiting; so that threads never wait, and small documents do not wait for a film. */
const RUNS_IN_FLIGHT = 8;

export function isForAllThreads(task: WriteTask): boolean {
  const isEncrypted = task.set !== undefined && task.carrier === 'beside';
  return isEncrypted && task.source.size > SMALL_FILE && isPlain(contentOptions(task));
}

export async function writeLargeDocument(
  task: WriteTask,
  context: ThreadContext,
  pool: JobPool,
): Promise<WrittenDocument> {
  context.checkNotStopped();
  const kept = task.previous === undefined ? undefined : await pool.perform({ kind: 'reuse', task }, RUN_LENGTH);
  if (kept !== undefined) return kept;
  const writer = objectWriterOf(task, plainMetadata(contentOptions(task)), context);
  using file = new TemporaryFile(shownFile(context.out, task));
  const plan = await writer.plan();
  const digests = new Uint8Array(32 * blockCount(plan.shape));
  await forEachInFlight(runsOf(task, writer, plan, file), RUNS_IN_FLIGHT, async (run) => {
    digests.set(await pool.perform({ kind: 'run', run }, RUN_LENGTH), 32 * run.first);
  });
  return await keepObject({ task, writer, context }, file, await writer.head(digests)); // awaited: the file is closed next
}

function* runsOf(
  { source }: WriteTask,
  { headLength }: ObjectWriter,
  plan: BlockRun['plan'],
  { name, shown }: TemporaryFile,
): Generator<BlockRun> {
  const count = blockCount(plan.shape);
  const length = Math.max(1, Math.floor(RUN_LENGTH / (plan.shape.blockChunks * 16_384)));
  for (let first = 0; first < count; first += length) {
    yield { source, plan, file: name, shown, payloadOffset: headLength, first, end: Math.min(count, first + length) };
  }
}

/** Reads, encrypts, digests and writes the blocks of one run, on one thread; returns their digests, one behind the other. */
export async function writeBlockRun(run: BlockRun, context: ThreadContext): Promise<Uint8Array> {
  using source = new SourceReader(run.source);
  const descriptor = toOutput(run.shown, () => openSync(run.file, 'r+'));
  try {
    const digests: Uint8Array[] = [];
    for (let index = run.first; index < run.end; index++) {
      context.checkNotStopped();
      const block = await makeBlock(run, index, source);
      digests.push(await sha256(block));
      const position = run.payloadOffset + blockRange(run.plan.shape, index).start;
      toOutput(run.shown, () => writeFully(descriptor, block, position));
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
