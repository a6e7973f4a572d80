/** Cost of a byte and of a document at each part of the system, in nanoseconds and cycles of a core, beside ciphers, signatures and TLS alone. */
import { type Measurement, type Table, table } from '../results.ts';
import { browser } from './browser.ts';
import { clock } from './cycles.ts';
import { type Primitives, primitives } from './primitives.ts';
import { type Cost, caches, keyServer, proxy, publisher, RUNS } from './programs.ts';
import { type Serving, serving } from './tls.ts';

/** Kounavis and others, section 2: clocks of a 3 GHz Core i7 for a transaction of 140 KB, the worst case, and transactions a second that they reach. */
const PAPER = { clocks: 7.3e6, transactions: 1200, gigahertz: 3 };
/** A byte takes so many nanoseconds of a link. */
const BYTE_AT_10_GBIT = 0.8;

type TableRow = readonly [string, ...(number | undefined)[]];

/** All in nanoseconds of processors, one after the other. */
export async function costFigure(report: (text: string) => void): Promise<Measurement> {
  const costs: Cost[] = [];
  for (const [name, measure] of Object.entries({ publisher, caches, proxy, browser, keyServer })) {
    report(name);
    costs.push(...(await measure()));
  }
  report('nginx and TLS');
  const served = await serving();
  report('openssl speed');
  const alone = await primitives();
  const { measured, told } = clock();
  return {
    settings: { runs: RUNS, gigahertz: measured, gigahertzTold: told },
    tables: { parts: partsOf(costs, measured), ...ofOpenssl(alone, measured), ...ofNginx(served, measured) },
  };
}

function partsOf(costs: readonly Cost[], gigahertz: number): Table {
  const rows = costs.map(
    ({ name, document, byte }): TableRow => [
      name,
      ...[document && document / 1000, document && (document * gigahertz) / 1000, byte, byte && byte * gigahertz],
    ],
  );
  return table(['µs a document', 'thousand cycles', 'ns a byte', 'cycles a byte'], rows);
}

function ofOpenssl({ bytes, signatures }: Primitives, gigahertz: number): Record<string, Table> {
  const ciphers = Array.from(bytes, ([name, each]): TableRow => [name, each, each * gigahertz, 1 / each]);
  const signing = Array.from(
    signatures,
    ([name, { sign, verify }]): TableRow => [
      name,
      ...[sign, sign * gigahertz, verify, verify * gigahertz].map((each) => each / 1000),
    ],
  );
  const header = ['µs to sign', 'thousand cycles to sign', 'µs to verify', 'thousand cycles to verify'];
  return { ciphers: table(['ns a byte', 'cycles a byte', 'GB/s'], ciphers), signatures: table(header, signing) };
}

function ofNginx(served: readonly Serving[], gigahertz: number): Record<string, Table> {
  const cores = served.map(({ name, request, byte }): TableRow => {
    const filling = byte / BYTE_AT_10_GBIT;
    return [name, request / 1000, byte, byte * gigahertz, filling, filling * 10];
  });
  const transactions = served.map(
    ({ name, transaction }): TableRow => [
      name,
      ...[transaction / 1000, (transaction * gigahertz) / 1e6, 1e9 / transaction],
    ],
  );
  const { clocks, gigahertz: theirs, transactions: reached } = PAPER;
  const paper: TableRow[] = [
    ['paper, as it was', clocks / theirs / 1000, clocks / 1e6, (theirs * 1e9) / clocks],
    ['paper, their TLS', 1e6 / reached, (theirs * 1e3) / reached, reached],
  ];
  const header = ['µs for 1 KiB', 'ns a byte', 'cycles a byte', 'cores, 10 Gbit/s', 'cores, 100 Gbit/s'];
  return {
    nginx: table(header, cores),
    transactions: table(['µs', 'million cycles', 'a second and core'], [...transactions, ...paper]),
  };
}
