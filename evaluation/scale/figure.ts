/** Figure 6: what documents and subscribers cost as they grow in number, and a model of a large newspaper from that. */
import { mediansOf } from '../../bench/measure.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { IS_QUICK } from '../quick.ts';
import { shuffled } from '../readers/random.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { LENGTH, type Published, publish } from './documents.ts';
import { growing, PUBLISHING, READING, SERVING } from './growing.ts';
import { type LargestSnapshot, largestSnapshot } from './largest.ts';
import { ASSUMED, type Inputs, model } from './model.ts';
import { costOnPostgres, type RequestCost } from './requests.ts';
import { importSets, serve } from './subscribers.ts';

/** `quick`: without the numbers that take minutes each. */
const NUMBERS = [100, 1000, 10_000, 100_000, ...(IS_QUICK ? [] : [1_000_000])];
const RUNS = IS_QUICK ? 1 : 3;
/** Above this, a run takes many minutes. */
const REPEATED_UP_TO = 100_000;
/** A bundle has 64 MiB at most, which is fewer than a million sets. */
const SETS = NUMBERS.filter((number) => number < 1_000_000);

export async function scaleFigure(report: (text: string) => void): Promise<Measurement> {
  const reported = <Result>(text: string, result: Result) => {
    report(`${text}: ${JSON.stringify(result)}`);
    return result;
  };
  const requests = reported('key requests', await costOnPostgres());
  const snapshot = reported('largest snapshot', await largestSnapshot());
  const served = await forEach(NUMBERS, async (number) => reported('subscribers', await serve(number)));
  const imported = await forEach(SETS, async (number) => reported('sets', await importSets(number)));
  const published = await forEach(NUMBERS, async (number) => reported('documents', await publish(number)));
  const inputs = inputsOf(requests, published.at(-1), snapshot);
  return {
    settings: { runs: RUNS, repeatedUpTo: REPEATED_UP_TO },
    tables: {
      publish: growing(NUMBERS, published, PUBLISHING),
      read: growing(NUMBERS, published, READING),
      serve: growing(NUMBERS, served, SERVING),
      sets: growing(SETS, imported, [{ what: 'import, s', of: ({ seconds }) => seconds }]),
      requests: table(
        ['key server, ms', 'database, ms'],
        [['PostgreSQL, disk', requests.processor, requests.databaseProcessor]],
      ),
      largest: values(largestOf(snapshot, inputs, published.at(-1))),
      assumed: values(ASSUMED),
      inputs: values({
        'keyServer, ms': inputs.keyServer,
        'database, ms': inputs.database,
        'publish, ms': inputs.publish * 1000,
        'overhead, bytes': inputs.overhead,
        'metadata, bytes': inputs.metadata,
        'snapshot, bytes a bin': snapshot.bytes / snapshot.bins,
      }),
      model: model(inputs),
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

function values(named: Readonly<Record<string, number>>): Table {
  return table(['value'], Object.entries(named));
}

function inputsOf(
  { processor, databaseProcessor }: RequestCost,
  largest: Published | undefined,
  snapshot: LargestSnapshot,
): Inputs {
  if (!largest) throw new Error('nothing was measured');
  return {
    keyServer: processor,
    database: databaseProcessor,
    publish: largest.firstProcessor / largest.documents,
    overhead: (largest.output - largest.metadata) / largest.documents - LENGTH,
    metadata: largest.metadata / largest.documents,
    snapshot,
  };
}

function largestOf({ bins, bytes, check }: LargestSnapshot, { metadata }: Inputs, largest: Published | undefined) {
  const fits = PUBLICATION_LIMITS.targetsLength / metadata;
  return {
    bins,
    'snapshot, MB': bytes / 1e6,
    'check, ms': check,
    'largest bin, MB': PUBLICATION_LIMITS.targetsLength / 1e6,
    'reached after, days': (fits * bins) / ASSUMED.documentsADay,
    'one in a hundred added, % of metadata': (100 * (largest?.addedBytes ?? 0)) / (largest?.metadata ?? 0),
  };
}
