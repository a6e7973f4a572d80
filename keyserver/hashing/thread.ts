/** The program of a thread that hashes: it gets one work at a time, and answers with the hash. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { argon2idNow } from '../../node-support/argon2id.ts';
import type { HashingWork } from './threads.ts';

/**
 * A third of the weight of all else that the machine does: enough for people who sign in while it has much to do. On Linux the number is that of a thread, and 0 the calling one
 * (setpriority(2), "C library/kernel differences"); elsewhere it would be that of the whole process.
 */
const PRIORITY = 5;
try {
  if (process.platform === 'linux') setPriority(0, PRIORITY);
} catch {
  // A sandbox forbids it: requests wait for hashes then, as they do elsewhere.
}

parentPort?.on('message', (work: HashingWork | undefined) => {
  if (work) parentPort?.postMessage(argon2idNow(work.typed, work.cost, work.salt));
  else parentPort?.close();
});
