// A thread that ends as soon as it is asked for anything: by an exit, or by an error that nobody catches.
import { parentPort, workerData } from 'node:worker_threads';

parentPort?.on('message', () => {
  if (workerData.out === 'exit') process.exit(7);
  throw new Error('out of luck');
});
