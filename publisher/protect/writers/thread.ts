import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import type { Answer, Job } from './jobs.ts';

/** What runs on a thread. */
const THREAD_PROGRAM = new URL('./thread-main.ts', import.meta.url);

/** A writing thread, as the pool sees it: it is told the keys once they are known, and then asked for batches of jobs. */
export type Thread = AnsweringThread<readonly Job[], readonly Answer[]>;

/** @param program - for tests */
export function startThread(program = THREAD_PROGRAM): Thread {
  return new AnsweringThread(program);
}
