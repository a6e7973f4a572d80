/** Does the jobs of one thread, in their order. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { utf8 } from '../../../core/encoding/bytes.ts';
import { contentFile, moveFile, replaceByCopy, replaceOutputFile, stagedFile, toOutput } from './files.ts';
import {
  type Answer,
  failureOf,
  type Job,
  type JobResults,
  type Placement,
  type ThreadContext,
  type ThreadData,
  threadContext,
} from './jobs.ts';
import { writeBlockRun } from './large-document.ts';
import { beginWriting, reuseIfPossible, writeDocument } from './write-document.ts';

export class Performer {
  readonly #context: ThreadContext;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(data: ThreadData) {
    this.#context = threadContext(data);
  }

  /** Does one batch after the other: the memory of a context serves one document at a time. Never rejects; a failure is an answer. */
  perform(jobs: readonly Job[]): Promise<readonly Answer[]> {
    const answers = this.#turn.then(async () => {
      const done: Answer[] = [];
      for (const job of jobs) done.push(await answer(job, this.#context));
      return done;
    });
    this.#turn = answers;
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

function place(placement: Placement, { out, checkNotStopped }: ThreadContext): number {
  checkNotStopped();
  const file = join(out, placement.path);
  if (placement.kind === 'page') replaceOutputFile(file, utf8(placement.page));
  else if (placement.kind === 'copy') replaceByCopy(file, contentFile(out, placement.path, placement.content));
  else moveFile(stagedFile(out, placement.path, placement.head), file);
  return toOutput(file, () => statSync(file).size);
}
