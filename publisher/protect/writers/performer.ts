/** Does the jobs of one thread, in their order. */
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

export class Performer {
  readonly #context: ThreadContext;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(data: ThreadData) {
    this.#context = threadContext(data);
  }

  /** One batch after the other: the memory of a context serves one document at a time. Never rejects; what fails is an answer. */
  perform(jobs: readonly Job[]): Promise<readonly Answer[]> {
    const answers = this.#turn.then(() => this.#answers(jobs));
    this.#turn = answers;
    return answers;
  }

  async #answers(jobs: readonly Job[]): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (const job of jobs) answers.push(await answer(job, this.#context));
    return answers;
  }
}

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
