/** Figure 6: what documents and subscribers cost as they grow in number, and a model of a large newspaper from that. */
import type { Figure } from '../document.ts';
import { IS_QUICK } from '../quick.ts';
import { described } from './described.ts';
import { type Published, publish } from './documents.ts';
import { largestSnapshot } from './largest.ts';
import { costsByDatabase } from './requests.ts';
import { importSets, type Served, serve } from './subscribers.ts';

/** `quick`: without the numbers that take minutes each. */
const NUMBERS = [100, 1000, 10_000, 100_000, ...(IS_QUICK ? [] : [1_000_000])];
/** A bundle has 64 MiB at most, which is fewer than a million sets. */
const SETS = NUMBERS.filter((number) => number < 1_000_000);

export async function scaleFigure(say: (text: string) => void): Promise<Figure> {
  const told = <Result>(text: string, result: Result) => {
    say(`${text}: ${JSON.stringify(result)}`);
    return result;
  };
  const requests = told('key requests', await costsByDatabase());
  const snapshot = told('largest snapshot', await largestSnapshot());
  const served: Served[] = [];
  for (const number of NUMBERS) served.push(told('subscribers', await serve(number)));
  const sets: [number, number][] = [];
  for (const number of SETS) sets.push(told('sets', [number, await importSets(number)]));
  const published: Published[] = [];
  for (const number of NUMBERS) published.push(told('documents', await publish(number)));
  return described({ requests, snapshot, served, sets, published });
}
