/** What runs on a thread of `wispr check`: first comes the site; then come batches, and are answered in their order. */
import { parentPort } from 'node:worker_threads';
import { type Batch, BatchReader, type SiteData } from './batches.ts';

parentPort?.once('message', (data: SiteData | undefined) => {
  if (data === undefined) return parentPort?.close(); // nothing more
  const reader = new BatchReader(data);
  parentPort?.on('message', (batch: Batch | undefined) => {
    if (batch === undefined) return parentPort?.close();
    parentPort?.postMessage(reader.read(batch));
  });
});
