// A thread that gives every job back, in the form that answers have.
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', (job) => (job === undefined ? parentPort?.close() : parentPort?.postMessage(job)));
