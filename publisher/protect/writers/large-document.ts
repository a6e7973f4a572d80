/** A large document whose content is its source as it is: cut into runs of blocks, which all threads read, encrypt and write at the same time. */
import { blockCount } from '../../../core/object/geometry.ts';
import type { ObjectWriter } from '../../../core/object/writer.ts';
import { forEachInFlight } from '../../../node-support/in-flight.ts';
import { isPlain, plainMetadata, SMALL_FILE } from '../content.ts';
import type { BlockRun } from './block-run.ts';
import type { WriteTask, WrittenDocument } from './contract.ts';
import { shownFile, TemporaryFile } from './files.ts';
import { contentOptions, objectWriterOf, type ThreadContext } from './jobs.ts';
import type { ThreadPool } from './thread-pool.ts';
import { keepObject } from './write-document.ts';

/** Bytes of content in a run: enough that opening files costs nothing beside it. */
const RUN_LENGTH = 4 * 1024 * 1024;

/** Runs under way or waiting; so that threads never wait, and small documents do not wait for a film. */
const RUNS_IN_FLIGHT = 8;

/** Whether a document is worth cutting. */
export function isForAllThreads(task: WriteTask): boolean {
  return (
    task.set !== undefined &&
    task.carrier === 'beside' &&
    task.source.size > SMALL_FILE &&
    isPlain(contentOptions(task))
  );
}

/** Writes a document that {@link isForAllThreads}. */
export async function writeLargeDocument(
  task: WriteTask,
  context: ThreadContext,
  pool: ThreadPool,
): Promise<WrittenDocument> {
  context.checkNotStopped();
  const kept = task.previous === undefined ? undefined : await pool.perform({ kind: 'reuse', task }, RUN_LENGTH);
  if (kept !== undefined) return kept;
  const writer = objectWriterOf(task, plainMetadata(contentOptions(task)), context);
  using file = new TemporaryFile(shownFile(context.out, task));
  const digests = await writeBlockRuns(task, writer, { file, context, pool });
  return await keepObject({ task, writer, context }, file, await writer.head(digests)); // awaited: the file is closed next
}

async function writeBlockRuns(
  task: WriteTask,
  writer: ObjectWriter,
  { file, context, pool }: { file: TemporaryFile; context: ThreadContext; pool: ThreadPool },
): Promise<Uint8Array> {
  const plan = await writer.plan();
  const shown = shownFile(context.out, task);
  const common = { source: task.source, plan, file: file.name, shown, payloadOffset: writer.headLength };
  const digests = new Uint8Array(32 * blockCount(plan.shape));
  await forEachInFlight(runsOf(common), RUNS_IN_FLIGHT, async (run) => {
    digests.set(await pool.perform({ kind: 'run', run }, RUN_LENGTH), 32 * run.first);
  });
  return digests;
}

function* runsOf(common: Omit<BlockRun, 'first' | 'end'>): Generator<BlockRun> {
  const { shape } = common.plan;
  const count = blockCount(shape);
  const length = Math.max(1, Math.floor(RUN_LENGTH / (shape.blockChunks * 16_384)));
  for (let first = 0; first < count; first += length) {
    yield { ...common, first, end: Math.min(count, first + length) };
  }
}
