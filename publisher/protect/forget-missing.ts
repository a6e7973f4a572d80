/** What lies in the output no more need not be kept, or removed, or counted. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { PublisherIndex } from '../index/publisher-index.ts';

/** Forgets retired files that somebody else has removed. Each is looked for, so this is for runs that found something missing. */
export function forgetMissing(out: string, index: PublisherIndex): void {
  for (let batch = index.retiredAfter(''); batch.length > 0; batch = index.retiredAfter(batch.at(-1) ?? '')) {
    const missing = batch.filter((file) => lstatSync(join(out, file), { throwIfNoEntry: false }) === undefined);
    index.transaction(() => {
      for (const file of missing) index.unretire(file);
    });
  }
}
