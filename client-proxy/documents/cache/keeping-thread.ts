/** The program of a thread that writes small objects down, so that no request waits for the disk. */
import { parentPort } from 'node:worker_threads';
import { reasonOf } from '../../../core/errors.ts';
import { type SmallObject, SmallObjects } from './small-objects.ts';

export interface KeepingJob {
  /** Directory, the same for all jobs. */
  readonly directory: string;
  readonly objects: readonly SmallObject[];
}

/** Error in words, and what tells a full disk. `undefined`: all are kept. */
export type KeepingAnswer = { readonly message: string; readonly code?: string; readonly errcode?: number } | undefined;

let small: SmallObjects | undefined;

parentPort?.on('message', (job: KeepingJob | undefined) => {
  if (job !== undefined) return parentPort?.postMessage(keep(job));
  small?.close();
  parentPort?.close();
});

function keep({ directory, objects }: KeepingJob): KeepingAnswer {
  try {
    small ??= new SmallObjects(directory);
    small.put(objects);
    return undefined;
  } catch (error) {
    const { code, errcode } = error as NodeJS.ErrnoException & { errcode?: number };
    return { message: reasonOf(error), ...(code !== undefined && { code }), ...(errcode !== undefined && { errcode }) };
  }
}
