/** Cost of a byte and of a document at each part of the system, in nanoseconds and cycles of a core, beside ciphers, signatures and TLS alone. */
import { type Measurement, type Table, table } from '../results.ts';
import { browser } from './browser.ts';
import { gigahertz } from './cycles.ts';
import { besidePaper } from './paper.ts';
import { type Primitives, primitives } from './primitives.ts';
import { type Cost, caches, keyServer, proxy, publisher, RUNS } from './programs.ts';
import { type Serving, serving } from './tls.ts';

type TableRow = readonly [string, ...(number | undefined)[]];

/** Measures all in nanoseconds of processors, one after the other. */
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
  const measured = gigahertz();
  return {
    settings: { runs: RUNS, gigahertz: measured },
    tables: {
      parts: partsOf(costs, measured),
      paper: besidePaper(alone, served, measured),
      ...ofOpenssl(alone, measured),
      ...ofNginx(served),
    },
  };
}

function partsOf(costs: readonly Cost[], gigahertz: number): Table {
  const rows = costs.map(
    ({ name, document, byte }): TableRow => [name, ...[document && document / 1000, byte, byte && byte * gigahertz]],
  );
  return table(['µs a document', 'ns a byte', 'cycles a byte'], rows);
}

function ofOpenssl({ bytes, signatures }: Primitives, gigahertz: number): Record<string, Table> {
  const ciphers = Array.from(bytes, ([name, { all, 'without AES': without }]): TableRow => {
    return [name, all, all && all * gigahertz, without];
  });
  const signing = Array.from(signatures, ([name, { sign, verify }]): TableRow => [name, sign / 1000, verify / 1000]);
  return {
    ciphers: table(['ns a byte', 'cycles a byte', 'ns a byte without AES instructions'], ciphers),
    signatures: table(['µs to sign', 'µs to verify'], signing),
  };
}

function ofNginx(served: readonly Serving[]): Record<string, Table> {
  const byBytes = served.map(({ name, byte, cores }): TableRow => [name, byte, cores]);
  const times = served.map(({ name, transaction }): TableRow => [name, transaction / 1000, 1e9 / transaction]);
  return {
    nginx: table(['ns a byte', 'cores, 10 Gbit/s'], byBytes),
    transactions: table(['µs', 'a second and core'], times),
  };
}
