import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import type { Answer, Job } from './jobs.ts';

/** What runs on a thread. */
const THREAD_PROGRAM = new URL('./thread-main.ts', import.meta.url);

/** Mebibytes of young objects. Twice the usual, for many small documents: a twentieth of their time, and no more memory at the peak. */
const YOUNG_GENERATION = 6;

/** A writing thread, as the pool sees it: it is told the keys once they are known, and then asked for batches of jobs. */
export type Thread = AnsweringThread<readonly Job[], readonly Answer[]>;

/** @param program - for tests */
export function startThread(program = THREAD_PROGRAM): Thread {
  return new AnsweringThread(program, YOUNG_GENERATION);
}
