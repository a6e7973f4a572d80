/** The figure as text, tables and plots. */
import { PUBLICATION_LIMITS } from '../../../core/publication/limits.ts';
import { type Figure, ranOn, table } from '../document.ts';
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

/** Documents and subscribers. */
const MOST = 1_000_000;

export function described(measured: Measured): Figure {
  const { published, served, sets } = measured;
  const inputs = inputsOf(measured);
  const documents = published.map((each) => each.documents);
  const subscribers = served.map((each) => each.subscribers);
  const text = `Each row has the exponent of a power law: 1 where twice as many cost twice as much, 0 where their number
does not matter. "All" is fitted to the whole row, "last" to the last tenfold alone, which a fixed
cost such as the start of a program flattens less.

**Documents.** \`wispr protect\` on text files of ${LENGTH} bytes, in folders of a thousand: of larger ones
there would be fewer a second, and the metadata the same. First all are new, then one is changed,
then one in a hundred is added. ${runsOf(published)}

${growing('documents', documents, published, PUBLISHING)}

{{plot scale-publish}}

What a reader of each of these publications does, from files: a cold start to the first document's
entry, and a look-up whose bin is not there yet. The snapshot is fetched again after each
publication. Medians of nine cold starts and of up to a hundred look-ups.

${growing('documents', documents, published, READING)}

{{plot scale-read}}

**Subscribers.** A key server with SQLite on a disk: a list of them is imported, each on one plan; a
bundle with thirty sets; a new day's set; a new period. Then it is started, and fifty devices ask
for one key each, sixteen at a time. Medians of five, the list and the start once. Rows of devices
are copies in length, made by the database.

${growing('subscribers', subscribers, served, SERVING)}

{{plot scale-serve}}

**Sets.** A first bundle takes this long with so many sets. A bundle has 64 MiB at most, which is
fewer than a million sets: that point cannot be run.

${growing(
  'sets',
  sets.map(([count]) => count),
  sets,
  [{ what: 'import, s', of: ([, seconds]) => seconds }],
)}

**A model of ${millions(ASSUMED.readers)} million readers, ${millions(ASSUMED.documentsADay)} million documents a day and ${ASSUMED.keyServers} key servers.** Nothing of this size was
run: it multiplies what is above. Assumed are ${ASSUMED.daysKept} days of documents of ${ASSUMED.documentLength.toLocaleString('en')} bytes,
${ASSUMED.publicationsADay} publications a day, and readers who open the site ${ASSUMED.opened} times and read ${ASSUMED.read} documents a
day. Either periods of ${ASSUMED.periodDays} days have keys, which are given from a quarter of a period ahead; or every
reader asks for each day's key, all within ${ASSUMED.rush.toLocaleString('en')} s. Measured are the inputs:

${table(['input', 'value'], inputRows(inputs, Math.max(...documents)))}

${table(
  ['the model says', 'value'],
  model(inputs).map(({ what, how, value, unit }) => [`${what}: ${how}`, `${number(value)} ${unit}`.trim()]),
)}

${bottlenecks(measured, inputs)}

What this does not show: documents of a real length, whose encryption [figures.md](figures.md) has;
many machines, and what the network between them costs; TLS; key requests of more than fifty devices;
more than ${Math.max(...documents).toLocaleString('en')} documents and ${Math.max(...subscribers).toLocaleString('en')} subscribers, which the model reaches by multiplying alone. ${leftOut(documents, subscribers)}
Other programs were running on both cores, so that times are too long, and exponents less exact
than their digits.
${ranOn()}`;
  return { text, plots: plots(measured, documents, subscribers) };
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
    ['*key server*: a key request on PostgreSQL, below', `${number(inputs.keyServer)} ms of a core`],
    ['*database*: the same in PostgreSQL', `${number(inputs.database)} ms of a core`],
    ['*written*: the same to its disk', `${number(inputs.written)} bytes`],
    [`*publish*: the first run of ${documents}, for each`, `${number(inputs.publish * 1000)} ms of a core`],
    [`*overhead*: of its output, without metadata and the ${LENGTH} bytes`, `${number(inputs.overhead)} bytes`],
    ['*metadata*: of its output', `${number(inputs.metadata)} bytes`],
    [
      '*snapshot*: of the largest one, below, for each bin',
      `${number(inputs.snapshot.bytes / inputs.snapshot.bins)} bytes`,
    ],
    ['*subscriber*: of the largest database with devices', `${number(inputs.subscriber)} bytes`],
    ['*import*: of the longest list, for each subscriber', `${number(inputs.import * 1000)} ms`],
  ];
}

function bottlenecks({ requests, published, snapshot }: Measured, inputs: Inputs): string {
  const largest = published.at(-1);
  if (!largest) throw new Error('nothing was measured');
  const { sqlite, memory, postgres } = requests;
  const row = (name: string, cost: typeof sqlite) => [
    name,
    ...[cost.rate, cost.processor, cost.databaseProcessor, cost.written].map(number),
  ];
  const share = (largest.addedBytes / largest.metadata) * 100;
  const fits = PUBLICATION_LIMITS.targetsLength / inputs.metadata;
  const most = (fits * snapshot.bins) / ASSUMED.documentsADay;
  return `Its three bottlenecks, each as it was measured here:

1. *Metadata of the publication.* There are ${snapshot.bins.toLocaleString('en')} bins at most. A publication with that many
   was made: its snapshot has ${number(snapshot.bytes / 1e6)} MB, which a reader fetches after each publication, and takes
   ${number(snapshot.check)} ms to check from memory. From there on only the bins grow. And adding one document in a
   hundred to ${largest.documents.toLocaleString('en')} wrote files of ${number(share)} % of the length of all metadata: new
   documents fall into all bins. A bin may have ${number(PUBLICATION_LIMITS.targetsLength / 1e6)} MB, which is reached after ${number(most)} days of
   a million documents each. So a publisher of this size keeps fewer days in one publication, or
   publishes less often, or has several sites.
2. *Key requests where a period begins.* One key server on one core answers ${number(1000 / sqlite.processor)} requests/s at
   best, since each takes ${number(sqlite.processor)} ms of a core. Period keys are given ahead for this reason.
3. *The database that key servers share.* Each request writes a row there. More key servers do not
   help: ${number(postgres.databaseProcessor)} ms of a core in PostgreSQL for each request beside ${number(postgres.processor)} ms in the key server are
   ${number(1000 / postgres.databaseProcessor)} requests/s for each core of the database's machine. No request waits for the
   disk: beside it stands SQLite on a disk and in memory.

${table(
  ['key requests', 'a second', 'key server, ms', 'database, ms', 'bytes written'],
  [row('SQLite, disk', sqlite), row('SQLite, memory', memory), row('PostgreSQL, disk', postgres)],
)}

Medians of five times 2,000 requests, sixteen at a time; the program that asks has the same two
cores.`;
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

/** Which of the points that belong here were not run. */
function leftOut(documents: readonly number[], subscribers: readonly number[]): string {
  const missing = [
    ...(documents.includes(MOST) ? [] : ['documents']),
    ...(subscribers.includes(MOST) ? [] : ['subscribers']),
  ];
  if (missing.length === 0) return '';
  return `${MOST.toLocaleString('en')} ${missing.join(' and ')} were left out in this run: they take too long on a machine in use.`;
}

function millions(count: number): string {
  return number(count / 1e6);
}
