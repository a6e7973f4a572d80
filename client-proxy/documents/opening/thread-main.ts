/** What runs on a thread that opens blocks: jobs come one by one, and are answered in their order. */
import { parentPort } from 'node:worker_threads';
import type { OpeningJob } from './jobs.ts';
import { openRun } from './open-run.ts';

let turn = Promise.resolve();
parentPort?.on('message', (job: OpeningJob | undefined) => {
  if (job === undefined) return parentPort?.close(); // nothing more
  turn = turn.then(async () => {
    const answer = await openRun(job);
    const memory = answer.sealed === undefined ? [answer.target] : [answer.target, answer.sealed];
    parentPort?.postMessage(answer, memory);
  });
});
