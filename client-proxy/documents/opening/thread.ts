import { getAsset, isSea } from 'node:sea';
import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import { ReaderError } from '../../errors.ts';
import type { OpeningAnswer, OpeningJob } from './jobs.ts';

/** What runs on it. The single file has no files beside it, but this one inside, as scripts/build-single.mjs puts it there. */
const PROGRAM = isSea()
  ? new URL(`data:text/javascript,${encodeURIComponent(getAsset('opening-thread.mjs', 'utf8'))}`)
  : new URL('./thread-main.ts', import.meta.url);

/** A thread that opens blocks. */
export type OpeningThread = AnsweringThread<OpeningJob, OpeningAnswer>;

/** @param program - for tests */
export function startOpeningThread(program = PROGRAM): OpeningThread {
  return new AnsweringThread(program);
}

/** @throws ReaderError `internal`, where the thread ends before its answer: then nothing is known of the run */
export async function openOn(thread: OpeningThread, job: OpeningJob): Promise<OpeningAnswer> {
  const memory = [job.sealed, job.target].filter((one) => one instanceof ArrayBuffer);
  try {
    return await thread.ask(job, memory);
  } catch (cause) {
    throw new ReaderError('internal', 'a thread that opens documents ended before its work', { cause });
  }
}
