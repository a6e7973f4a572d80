/** The figure as tables and plots. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { type Figure, section, table } from '../document.ts';
import { curves } from '../plot.ts';
import { LENGTH, type Published } from './documents.ts';
import { growing, number, PUBLISHING, READING, SERVING } from './growing.ts';
import type { LargestSnapshot } from './largest.ts';
import { ASSUMED, type Inputs, model } from './model.ts';
import type { Point } from './power.ts';
import type { RequestCosts } from './requests.ts';
import type { Served } from './subscribers.ts';

export interface Measured {
  readonly requests: RequestCosts;
  readonly served: readonly Served[];
  /** Sets of a bundle, and seconds to import it. */
  readonly sets: readonly Point[];
  readonly published: readonly Published[];
  readonly snapshot: LargestSnapshot;
}

export function described(measured: Measured): Figure {
  const { published, served, sets } = measured;
  const inputs = inputsOf(measured);
  const documents = published.map((each) => each.documents);
  const subscribers = served.map((each) => each.subscribers);
  return {
    runs: runsOf(published),
    sections: [
      section(
        `Documents of ${LENGTH} bytes: wispr protect`,
        growing('documents', documents, published, PUBLISHING),
        'scale-publish',
      ),
      section('Documents: a reader', growing('documents', documents, published, READING), 'scale-read'),
      section('Subscribers: a key server', growing('subscribers', subscribers, served, SERVING), 'scale-serve'),
      section('Sets: a first bundle', ofSets(sets)),
      section('Key requests to one key server', ofRequests(measured.requests)),
      section('The largest publication', ofLargest(measured, inputs)),
      section('Model: assumed', table(['assumed', 'value'], assumed())),
      section('Model: measured', table(['input', 'value'], inputRows(inputs, Math.max(...documents)))),
      section(
        'Model: results',
        table(
          ['result', 'value'],
          model(inputs).map(({ what, how, value, unit }) => [`${what}: ${how}`, `${number(value)} ${unit}`.trim()]),
        ),
      ),
    ],
    plots: plots(measured, documents, subscribers),
  };
}

function ofSets(sets: readonly Point[]): string {
  const counts = sets.map(([count]) => count);
  return growing('sets', counts, sets, [{ what: 'import, s', of: ([, seconds]) => seconds }]);
}

function assumed(): string[][] {
  return Object.entries(ASSUMED).map(([name, value]) => [name, value.toLocaleString('en')]);
}

function inputsOf({ requests, served, published, snapshot }: Measured): Inputs {
  const [largest, most] = [published.at(-1), served.at(-1)];
  if (!largest || !most) throw new Error('nothing was measured');
  return {
    keyServer: requests.postgres.processor,
    database: requests.postgres.databaseProcessor,
    written: requests.postgres.written,
    publish: largest.firstProcessor / largest.documents,
    overhead: (largest.output - largest.metadata) / largest.documents - LENGTH,
    metadata: largest.metadata / largest.documents,
    snapshot,
    subscriber: most.withDevices / most.subscribers,
    import: most.list / most.subscribers,
  };
}

function inputRows(inputs: Inputs, most: number): string[][] {
  const documents = `${most.toLocaleString('en')} documents`;
  return [
    ['*key server*: a key request on PostgreSQL', `${number(inputs.keyServer)} ms of a core`],
    ['*database*: the same in PostgreSQL', `${number(inputs.database)} ms of a core`],
    ['*written*: the same to its disk', `${number(inputs.written)} bytes`],
    [`*publish*: the first run of ${documents}, for each`, `${number(inputs.publish * 1000)} ms of a core`],
    [`*overhead*: of its output, without metadata and the ${LENGTH} bytes`, `${number(inputs.overhead)} bytes`],
    ['*metadata*: of its output', `${number(inputs.metadata)} bytes`],
    ['*snapshot*: of the largest one, for each bin', `${number(inputs.snapshot.bytes / inputs.snapshot.bins)} bytes`],
    ['*subscriber*: of the largest database with devices', `${number(inputs.subscriber)} bytes`],
    ['*import*: of the longest list, for each subscriber', `${number(inputs.import * 1000)} ms`],
  ];
}

function ofRequests({ sqlite, memory, postgres }: RequestCosts): string {
  const row = (name: string, cost: typeof sqlite) => [
    name,
    ...[cost.rate, cost.processor, cost.databaseProcessor, cost.written].map(number),
  ];
  return table(
    ['key requests', 'a second', 'key server, ms', 'database, ms', 'bytes written'],
    [row('SQLite, disk', sqlite), row('SQLite, memory', memory), row('PostgreSQL, disk', postgres)],
  );
}

function ofLargest({ published, snapshot }: Measured, inputs: Inputs): string {
  const largest = published.at(-1);
  if (!largest) throw new Error('nothing was measured');
  const fits = PUBLICATION_LIMITS.targetsLength / inputs.metadata;
  return table(
    ['what', 'value'],
    [
      ['bins', snapshot.bins.toLocaleString('en')],
      ['snapshot of them, MB', number(snapshot.bytes / 1e6)],
      ['to check it from memory, ms', number(snapshot.check)],
      ['a bin at most, MB', number(PUBLICATION_LIMITS.targetsLength / 1e6)],
      ['reached after, days of the model', number((fits * snapshot.bins) / ASSUMED.documentsADay)],
      ['written for one in a hundred more, % of all metadata', number((largest.addedBytes / largest.metadata) * 100)],
    ],
  );
}

function plots(
  { published, served }: Measured,
  documents: readonly number[],
  subscribers: readonly number[],
): Record<string, string> {
  const values = <Of>(each: readonly Of[], series: Readonly<Record<string, (one: Of) => number>>) =>
    Object.entries(series).map(([name, of]) => ({ name, values: each.map(of) }));
  return {
    'scale-publish': curves({
      title: 'Seconds of wispr protect, by documents',
      unit: 's',
      numbers: documents,
      series: values(published, {
        'first run': ({ first }) => first,
        'one changed': ({ changed }) => changed,
        'one in a hundred more': ({ added }) => added,
      }),
    }),
    'scale-read': curves({
      title: 'Bytes of metadata, by documents',
      unit: 'bytes',
      numbers: documents,
      series: values(published, {
        all: ({ metadata }) => metadata,
        snapshot: ({ snapshot }) => snapshot,
        'one look-up': ({ lookUpBytes }) => lookUpBytes,
        'written for one change': ({ changedBytes }) => changedBytes,
      }),
    }),
    'scale-serve': curves({
      title: 'Milliseconds at the key server, by subscribers',
      unit: 'ms',
      numbers: subscribers,
      series: values(served, {
        'import of the list': ({ list }) => list * 1000,
        'a new day': ({ newDay }) => newDay,
        'a new period': ({ newPeriod }) => newPeriod,
        'a key request, of a core': ({ processor }) => processor,
      }),
    }),
  };
}

function runsOf(published: readonly Published[]): string {
  const several = published.filter(({ runs }) => runs > 1);
  const { runs, documents } = several.at(-1) ?? { runs: 1, documents: 0 };
  return `Medians of ${runs} runs up to ${documents.toLocaleString('en')} documents, above that one run.`;
}
