/** What runs on a writing thread: first come the keys and what else all jobs need, once they are known; then jobs come in batches, and are answered in their order. */
import { parentPort } from 'node:worker_threads';
import { writeBlockRun } from './block-run.ts';
import {
  type Answer,
  failureOf,
  type Job,
  type JobResults,
  type ThreadContext,
  type ThreadData,
  threadContext,
} from './jobs.ts';
import { place } from './place.ts';
import { beginWriting, reuseIfPossible, writeDocument } from './write-document.ts';

parentPort?.once('message', (data: ThreadData | undefined) => {
  if (data === undefined) return parentPort?.close(); // nothing more
  const context = threadContext(data);
  let turn = Promise.resolve();
  parentPort?.on('message', (jobs: readonly Job[] | undefined) => {
    if (jobs === undefined) return parentPort?.close();
    turn = turn.then(async () => {
      const answers: Answer[] = [];
      for (const job of jobs) answers.push(await answer(job, context));
      parentPort?.postMessage(answers);
    });
  });
});

async function answer(job: Job, context: ThreadContext): Promise<Answer> {
  try {
    return { value: await perform(job, context) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

async function perform(job: Job, context: ThreadContext): Promise<JobResults[Job['kind']]> {
  switch (job.kind) {
    case 'write':
      return writeDocument(job.task, context);
    case 'reuse':
      return reuseIfPossible(await beginWriting(job.task, context));
    case 'run':
      return writeBlockRun(job.run, context);
    case 'place':
      return place(job.placement, context);
  }
}
