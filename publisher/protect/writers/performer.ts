/** Does the jobs of one thread, in their order. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { utf8 } from '../../../core/encoding/bytes.ts';
import { writeBlockRun } from './block-run.ts';
import type { Placement } from './contract.ts';
import { contentFile, moveFile, replaceByCopy, replaceFile, stagedFile, toOutputNow } from './files.ts';
import {
  type Answer,
  failureOf,
  type Job,
  type JobResults,
  type ThreadContext,
  type ThreadData,
  threadContext,
} from './jobs.ts';
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

/** Replaces what lies at a document's own name; returns its length. */
export function place(placement: Placement, { out, checkNotStopped }: ThreadContext): number {
  checkNotStopped();
  const file = join(out, placement.path);
  switch (placement.kind) {
    case 'page': {
      const page = utf8(placement.page);
      replaceFile(file, page);
      return page.length;
    }
    case 'copy':
      replaceByCopy(file, contentFile(out, placement.path, placement.content));
      break;
    case 'carrier':
      moveFile(stagedFile(out, placement.path, placement.head), file);
  }
  return toOutputNow(file, () => statSync(file).size);
}
