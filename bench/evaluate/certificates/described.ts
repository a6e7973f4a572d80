/** The figure as text, tables and plots. */
import { DEFAULT_LIMITS, LIMITS } from '../../../client-proxy/limits.ts';
import { CELL, INMARSAT, IRIDIUM, LOOPBACK, MILSTAR, TCDL } from '../../link/kinds.ts';
import type { LinkKind } from '../../link/narrow-link.ts';
import { type Figure, ranOn, table } from '../document.ts';
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
  const text = `A handshake of \`openssl s_client\` on the near side with nginx on the far one: plain, and by way of
\`wispr link near\` and \`wispr link far\`, whose stores are empty at the first visit. "Client
certificate": TLS 1.2 with chains of two on both sides. TLS 1.3 stands beside it.

**RSA-2048, chains of two.** Seconds until the client has the whole handshake.

${seconds(measured, columnsOf('rsa'))}

{{plot handshake-server}}

{{plot handshake-client}}

Bytes on the link, both ways, headers of IP and TCP included, without the end of the connection.

${bytes(measured, columnsOf('rsa'))}

{{plot handshake-bytes}}

**ECDSA P-256, chains of two.** Seconds, then bytes.

${seconds(measured, columnsOf('ecdsa'))}

${bytes(measured, columnsOf('ecdsa'))}

**Beside the paper.** Seconds of handshakes without client certificates. McVeety, *TLS Optimization
Using Intercepting Proxies* (MIT, 2009), has the same five links.

${besidePaper(measured)}

${aboutPaper(measured)}

**A key request.** One key of a key server: by HTTPS with TLS 1.3 (ECDSA, chain of two), and by
[HTTPCrypt](spec/httpcrypt.md) with the Reader's messages. Each has a TCP connection of its own. The
first one by HTTPCrypt asks the door for its key before, over the same connection. HTTPCrypt pads
each message to whole KiB, to hide its length.

Seconds until the key is there, then bytes with the end of the connection.

${seconds(measured, keys)}

{{plot key-request}}

${bytes(measured, keys)}

${limits(measured)}`;
  return { text, plots: plots(measured, keys) };
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

function aboutPaper({ results }: Measured): string {
  const [plain = '', , second = ''] = SERVER_ONLY.map(({ name }) => `rsa ${name}`);
  const share = (kind: LinkKind) => Math.round((1 - results.bytes(kind, second) / results.bytes(kind, plain)) * 100);
  return `The paper saves up to 50 % of the bytes. Here the second visit saves ${share(LOOPBACK)} % where nothing is sent
twice, and ${share(IRIDIUM)} % on Iridium. The two are not the same experiment. The paper's certificate has 926 bytes and
no chain. Its times begin with the first packet and end with the first alert; those here begin with
the program. Its proxies pass packets on and need up to 0.45 s; these relays end TCP, and make a
connection of their own for each client.`;
}

function limits({ runs, runsWhereSlow }: Measured): string {
  return `Medians of ${runs} runs, ${runsWhereSlow} on links with 2,400 bit/s; the ways take turns. *loopback* is what the
programs take alone, the start of \`openssl\` included; a busy machine lengthens it, so only where the
link is slow do the seconds say much. Where an answer takes longer than a second, TCP sends packets
twice, and these bytes are counted: more or fewer from run to run. What this does not show: loss and
jitter, which such links have; other traffic on them; clients that keep connections open; name
resolution.

A program for this figure sends the key requests. The Reader resumes sessions of TLS too. It waits
${DEFAULT_LIMITS.handshakeTimeout / 1000} s for a handshake, ${DEFAULT_LIMITS.headersTimeout / 1000} s for the next bytes, and ${LIMITS.exchangeTimeout / 1000} s for all of a request: what takes longer
above fails there. The timestamp of a publication has ${DEFAULT_LIMITS.timestampTimeout / 1000} s: on 2,400 bit/s both ways it has to come
from a cache on the near side.
${ranOn()}`;
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
