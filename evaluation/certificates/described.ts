/** The figure as tables and plots. */

import { type Figure, section, table } from '../document.ts';
import { CELL, INMARSAT, IRIDIUM, MILSTAR, TCDL } from '../link/kinds.ts';
import type { LinkKind } from '../link/narrow-link.ts';
import type { Results } from '../link-results.ts';
import { bars } from '../plot.ts';
import { SERVER_ONLY, TLS13, WAYS, WITH_CLIENT } from './handshakes.ts';
import { KEY_WAYS } from './setting.ts';

export interface Measured {
  readonly kinds: readonly LinkKind[];
  /** Milliseconds. */
  readonly pings: ReadonlyMap<LinkKind, number>;
  readonly results: Results;
  readonly runs: number;
  readonly runsWhereSlow: number;
}

/** McVeety, listing A.4: seconds of a server-only handshake without and with the proxies. */
const PAPER: readonly (readonly [LinkKind, number, number])[] = [
  [IRIDIUM, 9.50572, 6.68903],
  [INMARSAT, 2.92503, 3.184],
  [MILSTAR, 5.82993, 6.11165],
  [CELL, 0.623161, 1.08356],
  [TCDL, 0.01062, 0.455612],
];

/** A column: how it is called there, and by what name it was measured. */
type Column = readonly [string, string];

export function described(measured: Measured): Figure {
  const names = WAYS.map(({ name }) => name);
  const columnsOf = (key: string): Column[] => names.map((name) => [name, `${key} ${name}`]);
  const keys: Column[] = KEY_WAYS.map((way) => [way, way]);
  const onTheLink = 'bytes on the link, both ways, headers of IP and TCP included';
  return {
    runs: `Medians of ${measured.runs} runs, ${measured.runsWhereSlow} on links with 2,400 bit/s; the ways take turns.`,
    sections: [
      section(
        'Handshakes, RSA-2048, chains of two: seconds',
        seconds(measured, columnsOf('rsa')),
        'handshake-server',
        'handshake-client',
      ),
      section(`The same: ${onTheLink}`, bytes(measured, columnsOf('rsa')), 'handshake-bytes'),
      section('Handshakes, ECDSA P-256, chains of two: seconds', seconds(measured, columnsOf('ecdsa'))),
      section(`The same: ${onTheLink}`, bytes(measured, columnsOf('ecdsa'))),
      section('Beside McVeety (2009): seconds, no client certificate', besidePaper(measured)),
      section('A key request: seconds', seconds(measured, keys), 'key-request'),
      section(`The same: ${onTheLink}, end of the connection too`, bytes(measured, keys)),
    ],
    plots: plots(measured, keys),
  };
}

function seconds({ kinds, pings, results }: Measured, columns: readonly Column[]): string {
  const rows = kinds.map((kind) => [
    kind.name,
    `${Math.round(pings.get(kind) ?? Number.NaN)} ms`,
    ...columns.map(([, name]) => results.seconds(kind, name).toPrecision(3)),
  ]);
  return table(['link', 'ping', ...columns.map(([title]) => title)], rows);
}

function bytes({ kinds, results }: Measured, columns: readonly Column[]): string {
  const rows = kinds.map((kind) => [kind.name, ...columns.map(([, name]) => grouped(results.bytes(kind, name)))]);
  return table(['link', ...columns.map(([title]) => title)], rows);
}

function besidePaper({ results }: Measured): string {
  const [plain = '', , second = ''] = SERVER_ONLY.map(({ name }) => `rsa ${name}`);
  const rows = PAPER.map(([kind, without, by]) => [
    kind.name,
    ...[without, by, results.seconds(kind, plain), results.seconds(kind, second)].map((each) => each.toPrecision(3)),
  ]);
  return table(['link', 'paper, plain', 'paper, proxies', 'here, plain', 'here, second visit'], rows);
}

function plots(measured: Measured, keys: readonly Column[]): Record<string, string> {
  const { kinds, results } = measured;
  // On the others the bars could not be seen.
  const shown = kinds.filter(({ delay }) => delay > 0);
  const inSeconds = (title: string, columns: readonly Column[]) =>
    bars({
      title,
      unit: 's',
      groups: shown.map(({ name }) => name),
      series: columns.map(([name, measuredAs]) => ({
        name,
        values: shown.map((kind) => results.seconds(kind, measuredAs)),
      })),
    });
  const rsa = (ways: typeof WAYS, titles: readonly string[]) =>
    ways.map(({ name }, index): Column => [titles[index] ?? name, `rsa ${name}`]);
  const visits = ['TLS 1.2', 'first visit', 'second visit'];
  return {
    'handshake-server': inSeconds('Seconds of a handshake, RSA, server only', [
      ...rsa(SERVER_ONLY, visits),
      ...rsa(TLS13, []),
    ]),
    'handshake-client': inSeconds('Seconds of a handshake, RSA, with client certificate', rsa(WITH_CLIENT, visits)),
    'handshake-bytes': bytesPlot(results, visits),
    'key-request': inSeconds('Seconds of a key request', keys),
  };
}

/** On one link: they hardly differ between links. */
function bytesPlot(results: Results, visits: readonly string[]): string {
  const groups = ['rsa', 'ecdsa'].flatMap((key) => [SERVER_ONLY, WITH_CLIENT].map((ways) => ({ key, ways })));
  const series = visits.map((name, index) => ({
    name,
    values: groups.map(({ key, ways }) => results.bytes(INMARSAT, `${key} ${ways[index]?.name}`)),
  }));
  const names = groups.map(
    ({ key, ways }) => `${key.toUpperCase()}${ways === WITH_CLIENT ? ', client certificate' : ''}`,
  );
  return bars({ title: 'Bytes of a handshake, on Inmarsat', unit: 'bytes', groups: names, series });
}

function grouped(count: number): string {
  return Math.round(count).toLocaleString('en');
}
