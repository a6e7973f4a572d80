/** Figure 6: what documents and subscribers cost as they grow in number, and a model of a large newspaper from that. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { IS_QUICK } from '../quick.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { LENGTH, type Published, publish, REPEATED_UP_TO, RUNS } from './documents.ts';
import { growing, PUBLISHING, READING, SERVING } from './growing.ts';
import { type LargestSnapshot, largestSnapshot } from './largest.ts';
import { ASSUMED, type Inputs, model } from './model.ts';
import { costOnPostgres, type RequestCost } from './requests.ts';
import { importSets, type Served, serve } from './subscribers.ts';

/** `quick`: without the numbers that take minutes each. */
const NUMBERS = [100, 1000, 10_000, 100_000, ...(IS_QUICK ? [] : [1_000_000])];
/** A bundle has 64 MiB at most, which is fewer than a million sets. */
const SETS = NUMBERS.filter((number) => number < 1_000_000);

export async function scaleFigure(report: (text: string) => void): Promise<Measurement> {
  const reported = <Result>(text: string, result: Result) => {
    report(`${text}: ${JSON.stringify(result)}`);
    return result;
  };
  const requests = reported('key requests', await costOnPostgres());
  const snapshot = reported('largest snapshot', await largestSnapshot());
  const served: Served[] = [];
  for (const number of NUMBERS) served.push(reported('subscribers', await serve(number)));
  const imported: number[] = [];
  for (const number of SETS) imported.push(reported('sets', await importSets(number)));
  const published: Published[] = [];
  for (const number of NUMBERS) published.push(reported('documents', await publish(number)));
  const inputs = inputsOf(requests, published.at(-1), snapshot);
  return {
    settings: { runs: RUNS, repeatedUpTo: REPEATED_UP_TO },
    tables: {
      publish: growing(NUMBERS, published, PUBLISHING),
      read: growing(NUMBERS, published, READING),
      serve: growing(NUMBERS, served, SERVING),
      sets: growing(SETS, imported, [{ what: 'import, s', of: (seconds) => seconds }]),
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
