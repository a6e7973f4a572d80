// A thread that ends as soon as it is asked for anything: by an exit, or by an uncaught error.
import { parentPort } from 'node:worker_threads';

parentPort?.once('message', ({ out }) => {
  parentPort?.on('message', () => {
    if (out === 'exit') process.exit(7);
    throw new Error('out of luck');
  });
});
