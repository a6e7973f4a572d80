/** Program of a writing thread: first come the keys and all else that jobs need; then jobs come in batches, and are answered in their order. */
import { parentPort } from 'node:worker_threads';
import type { Job, ThreadData } from './jobs.ts';
import { Performer } from './performer.ts';

parentPort?.once('message', (data: ThreadData | undefined) => {
  if (data === undefined) return parentPort?.close(); // nothing more
  const performer = new Performer(data);
  parentPort?.on('message', async (jobs: readonly Job[] | undefined) => {
    if (jobs === undefined) return parentPort?.close();
    parentPort?.postMessage(await performer.perform(jobs));
  });
});
