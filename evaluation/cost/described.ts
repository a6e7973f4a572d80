/** The figure as tables and plots. */
import { type Figure, section, table } from '../document.ts';
import { bars } from '../plot.ts';
import type { Measured } from './measured.ts';
import { RUNS } from './programs.ts';

/** Kounavis and others, section 2: clocks of a 3 GHz Core i7 for a transaction of 140 KB, the worst case, and transactions a second that they reach. */
const PAPER = { clocks: 7.3e6, transactions: 1200, gigahertz: 3 };
/** A byte takes so many nanoseconds of a link. */
const BYTE_AT_10_GBIT = 0.8;

export function described(measured: Measured): Figure {
  const { measured: gigahertz, told } = measured.clock;
  return {
    runs: `Medians of ${RUNS}; cycles at ${gigahertz.toFixed(2)} GHz, as measured (/proc/cpuinfo: ${told.toFixed(2)} GHz).`,
    sections: [
      section('Parts: processor time, user and system, of all their processes', costs(measured), 'cost-byte'),
      section('openssl speed, blocks of 64 KiB', algorithms(measured)),
      section('openssl speed, signatures', signatures(measured)),
      section('nginx: 1 KiB, a further byte, and cores to fill a link', cores(measured), 'cost-cores'),
      section('nginx: a transaction of 140 KB, beside Kounavis and others (2010)', transactions(measured)),
    ],
    plots: plots(measured),
  };
}

function costs({ costs: all, clock: { measured } }: Measured): string {
  const rows = all.map(({ name, document, byte }) => [
    name,
    short(document && document / 1000),
    short(document && (document * measured) / 1000),
    short(byte),
    short(byte && byte * measured),
  ]);
  return table(['part', 'µs a document', 'thousand cycles', 'ns a byte', 'cycles a byte'], rows);
}

function algorithms({ primitives: { bytes }, clock: { measured } }: Measured): string {
  const rows = [...bytes].map(([name, each]) => [name, short(each), short(each * measured), short(1 / each)]);
  return table(['algorithm', 'ns a byte', 'cycles a byte', 'GB/s'], rows);
}

function signatures({ primitives, clock: { measured } }: Measured): string {
  const rows = [...primitives.signatures].map(([name, { sign, verify }]) => [
    name,
    ...[sign, sign * measured, verify, verify * measured].map((each) => short(each / 1000)),
  ]);
  return table(['signature', 'µs to sign', 'thousand cycles', 'µs to verify', 'thousand cycles'], rows);
}

function cores({ serving, clock: { measured } }: Measured): string {
  const rows = serving.map(({ name, request, byte }) => [
    name,
    short(request / 1000),
    short(byte),
    short(byte * measured),
    short(byte / BYTE_AT_10_GBIT),
    short((byte / BYTE_AT_10_GBIT) * 10),
  ]);
  const header = ['server', 'µs for 1 KiB', 'ns a byte', 'cycles a byte', 'cores, 10 Gbit/s', 'cores, 100 Gbit/s'];
  return table(header, rows);
}

function transactions({ serving, clock: { measured } }: Measured): string {
  const perSecond = (nanoseconds: number) => Math.round(1e9 / nanoseconds).toLocaleString('en');
  const rows = serving.map(({ name, transaction }) => [
    name,
    short(transaction / 1000),
    short((transaction * measured) / 1e6),
    perSecond(transaction),
  ]);
  const { clocks, gigahertz, transactions: reached } = PAPER;
  return table(
    ['who', 'µs', 'million cycles', 'a second and core'],
    [
      ...rows,
      ['paper, as it was', short(clocks / gigahertz / 1000), short(clocks / 1e6), perSecond(clocks / gigahertz)],
      ['paper, their TLS', short(1e6 / reached), short((gigahertz * 1e3) / reached), reached.toLocaleString('en')],
    ],
  );
}

function plots({ costs: all, primitives, serving, clock: { measured } }: Measured): Record<string, string> {
  const ours = all.flatMap(({ name, byte }) => (byte === undefined ? [] : [[name, byte] as const]));
  const shown = [...ours, ...primitives.bytes];
  return {
    'cost-byte': bars({
      title: 'Cycles a byte',
      unit: 'cycles',
      groups: shown.map(([name]) => name.replace('-Poly1305', '')),
      series: [{ name: 'cycles a byte', values: shown.map(([, byte]) => byte * measured) }],
      logarithmic: true,
    }),
    'cost-cores': bars({
      title: 'Cores to fill 10 Gbit/s',
      unit: 'cores',
      groups: serving.map(({ name }) => name.replace('nginx, ', '').replace(', ECDSA', '')),
      series: [
        { name: 'large objects over kept connections', values: serving.map(({ byte }) => byte / BYTE_AT_10_GBIT) },
      ],
    }),
  };
}

function short(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '';
  return value >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
