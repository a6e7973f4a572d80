/** The figure as text, tables and plots. */
import { type Figure, ranOn, table } from '../document.ts';
import { bars } from '../plot.ts';
import type { Measured } from './measured.ts';
import { RUNS } from './programs.ts';

/** Kounavis and others, section 2: clocks of a 3 GHz Core i7 for a transaction of 140 KB, the worst case, and transactions a second that they reach. */
const PAPER = { clocks: 7.3e6, transactions: 1200, gigahertz: 3 };
/** A byte takes so many nanoseconds of a link. */
const BYTE_AT_10_GBIT = 0.8;

export function described(measured: Measured): Figure {
  const { measured: gigahertz, told } = measured.clock;
  const text = `Time of processors, user and system, of all processes and threads of a program. *Byte*: what each
further byte of a large document takes; *document*: a small one of 1 KiB, the publisher's of 8 KiB.
Cycles: times ${gigahertz.toFixed(2)} GHz, which is what a chain of dependent multiplications and additions, whose
length in cycles is known, ran at (the fastest of 400 times; a virtual machine has no counters, and
/proc/cpuinfo says ${told.toFixed(2)} GHz).

${costs(measured)}

{{plot cost-byte}}

*Caches* answer from what they hold, over connections that are kept; *proxy* is the Reader; the
*in-browser reader* is Chromium with all its processes, with a public document, whose hashes it
checks, read again. The publisher hashes, encrypts, signs and writes; its figures are the difference
of two runs, so that the program's start is not in them. Beside them \`openssl speed\`, blocks of
64 KiB:

${algorithms(measured)}

${signatures(measured)}

**Servers.** nginx with what a protected object is to it, bytes: as they are, by \`sendfile\`; and by
TLS 1.3 with each cipher. Cores to fill a link with large objects, which is a lower bound: on
loopback the kernel copies, but drives no network card.

${cores(measured)}

{{plot cost-cores}}

**A transaction of 140 KB**, as in Kounavis and others, *Encrypting the Internet* (SIGCOMM 2010),
over a TCP connection of its own, with a whole handshake where there is TLS.

${transactions(measured)}

The paper's first row counts cryptography alone, with RSA-1024 and SHA-1; the second one is a whole
server's with TLS 1.2, as are the rows from here with TLS 1.3 and certificates of today. It needs 8
cores at 3 GHz for 10 Gbit/s. What this does not show: network cards, and what they take from the
processor (kernel TLS, which nginx needs another build for); memory; decryption in the browser.
Other programs used both cores meanwhile, which makes the same work cost up to twice as much: nginx
stands above with two figures for a byte, measured at different times. Differences below a half say
nothing, and those between ciphers are best seen in \`openssl speed\`.
${ranOn()} Medians of ${RUNS}.`;
  return { text, plots: plots(measured) };
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
