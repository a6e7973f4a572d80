/** Key requests, and what they cost the key server. */
import { REQUESTS, rateOf } from '../../bench/key-clients.ts';
import type { MeasuredServer } from '../../bench/key-server.ts';
import { median } from '../../bench/measure.ts';
import { processorTime } from '../../bench/proc.ts';
import type { Started } from '../../bench/processes.ts';

/** Milliseconds of a core for each request, the median of several times so many, with sixteen at a time. */
export async function costOfRequest({ facts }: Started<MeasuredServer>, times = 5): Promise<number> {
  await rateOf(facts, facts); // lets it be compiled
  const runs: number[] = [];
  while (runs.length < times) {
    const before = await processorTime(facts.pid);
    await rateOf(facts, facts);
    runs.push((((await processorTime(facts.pid)) - before) * 1000) / REQUESTS);
  }
  return median(runs);
}
