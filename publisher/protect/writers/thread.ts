import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import type { Answer, Job } from './jobs.ts';

/** What runs on a thread. */
const THREAD_PROGRAM = new URL('./thread-main.ts', import.meta.url);

/**
 * Mebibytes of young objects, all three spaces of them together. Four times the usual, for many small documents: with 6, of which 3 were used, they
 * took a twelfth more time; with 24, no less (docs/figures.md).
 */
const YOUNG_GENERATION = 12;

/** A writing thread, as the pool sees it: it is told the keys once they are known, and then asked for batches of jobs. */
export type Thread = AnsweringThread<readonly Job[], readonly Answer[]>;

/** @param program - for tests */
export function startThread(program = THREAD_PROGRAM): Thread {
  return new AnsweringThread(program, YOUNG_GENERATION);
}
