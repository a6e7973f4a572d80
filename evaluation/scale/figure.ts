/** Figure 6: what documents and subscribers cost as they grow in number. */
import { mediansOf } from '../../bench/measure.ts';
import { IS_QUICK } from '../quick.ts';
import { shuffled } from '../readers/random.ts';
import { type Measurement, table } from '../results.ts';
import { publish } from './documents.ts';
import { growing, PUBLISHING, READING, SERVING } from './growing.ts';
import { largestSnapshot } from './largest.ts';
import { serve } from './subscribers.ts';

/** `quick`: without the numbers that take minutes each. */
const NUMBERS = [100, 1000, 10_000, 100_000, ...(IS_QUICK ? [] : [1_000_000])];
const RUNS = IS_QUICK ? 1 : 3;
/** Number above which a run takes many minutes. */
const REPEATED_UP_TO = 10_000;

export async function scaleFigure(report: (text: string) => void): Promise<Measurement> {
  const reported = <Result>(text: string, result: Result) => {
    report(`${text}: ${JSON.stringify(result)}`);
    return result;
  };
  const { bins, bytes, check } = reported('largest snapshot', await largestSnapshot());
  const served = await forEach(NUMBERS, async (number) => reported('subscribers', await serve(number)));
  const published = await forEach(NUMBERS, async (number) => reported('documents', await publish(number)));
  return {
    settings: { runs: RUNS, repeatedUpTo: REPEATED_UP_TO },
    tables: {
      publish: growing(NUMBERS, published, PUBLISHING),
      read: growing(NUMBERS, published, READING),
      serve: growing(NUMBERS, served, SERVING),
      largest: table(
        ['value'],
        [
          ['bins', bins],
          ['snapshot, MB', bytes / 1e6],
          ['check, ms', check],
        ],
      ),
    },
  };
}

/**
 * Measures each number several times, in random order, after one that does not count: what a machine does meanwhile, and what it keeps in memory,
 * falls on all alike.
 *
 * @returns medians, in the order of the numbers
 */
async function forEach<Of extends { readonly [Name in keyof Of]: number }>(
  numbers: readonly number[],
  measure: (number: number) => Promise<Of>,
): Promise<Record<keyof Of, number>[]> {
  await measure(Math.min(...numbers));
  const runs = numbers.map((): Of[] => []);
  const turns = numbers.flatMap((number, at) => Array.from({ length: number > REPEATED_UP_TO ? 1 : RUNS }, () => at));
  for (const at of shuffled(turns, Math.random)) runs[at]?.push(await measure(numbers[at] ?? 0));
  return runs.map((each) => mediansOf(each));
}
