/** Figures 3, 4 and 6 to 9 of "HTTPCrypt": ciphers with and without the processor's help; requests a second and latency of nginx and of the endpoint, without keep-alive. */
import { measureAlternately, measureLoads } from '../../bench/measure.ts';
import { type Instructions, speed } from '../openssl-speed.ts';
import { IS_QUICK } from '../quick.ts';
import { type Measurement, type Table, table } from '../results.ts';
import { type HttpcryptFigures, startContestants } from './contestants.ts';

const RUNS = IS_QUICK ? 1 : 3;
const KIB = 1024;
const SIZES = [1, 10, 100];
const LARGEST = 100;
const CIPHERS = {
  'ChaCha20-Poly1305': 'chacha20-poly1305',
  'AES-128-GCM': 'aes-128-gcm',
  'AES-256-GCM': 'aes-256-gcm',
};
const INSTRUCTIONS: readonly Instructions[] = ['all', 'without AES', 'SSSE3'];
/** Rates that the paper's text gives of its machine. */
const OPERATIONS = [
  ['ECDH P-256, /s', 5391.8, ['ecdhp256'], 1],
  ['ECDSA P-256, /s', 9483.1, ['ecdsap256'], 1],
  ['AES-128-GCM, MB/s', 1301.8, ['-bytes', '16384', '-evp', 'aes-128-gcm'], 1e6],
  ['X25519, /s', null, ['ecdhx25519'], 1],
] as const;

type Figures = Awaited<ReturnType<typeof measure>>;

export async function httpcryptFigure(report: (text: string) => void): Promise<Measurement> {
  report('openssl speed');
  const ciphers = await bulk();
  const operations = await measureAlternately(
    OPERATIONS.map(([name, , args, unit]) => ({ name, run: () => rate(args, unit) })),
    RUNS,
  );
  const [loaded, alone]: [Figures[], Figures[]] = [[], []];
  for (const size of SIZES) {
    report(`${size} KiB`);
    loaded.push(await measure(size, false));
    alone.push(await measure(size, false, '-c1'));
  }
  report('1 KiB, with keep-alive');
  const kept = await measure(1, true);
  return {
    settings: { runs: RUNS },
    tables: {
      'ciphers, MB/s': ciphers,
      'requests/s': bySize(loaded, ({ requestsPerSecond }) => requestsPerSecond),
      // Time from one connection to the next: wrk's own latency begins behind the handshake.
      'latency, ms': bySize(alone, ({ requestsPerSecond }) => 1000 / requestsPerSecond),
      'µs of a core': bySize(loaded, ({ processorTime }) => processorTime),
      '% resumed': bySize(loaded, ({ resumed }) => 100 * resumed),
      paper: besidePaper(loaded[0], kept, ciphers, operations),
    },
  };
}

async function bulk(): Promise<Table> {
  const cells = INSTRUCTIONS.flatMap((may) => SIZES.map((size) => ({ name: `${size} KiB, ${may}`, may, size })));
  const rows: [string, ...number[]][] = [];
  for (const [name, algorithm] of Object.entries(CIPHERS)) {
    const contestants = cells.map(({ name, may, size }) => ({
      name,
      run: () => rate(['-bytes', String(size * KIB), '-evp', algorithm], 1e6, may),
    }));
    rows.push([name, ...(await measureAlternately(contestants, RUNS))]);
  }
  return table(
    cells.map(({ name }) => name),
    rows,
  );
}

async function rate(args: readonly string[], unit = 1, may: Instructions = 'all'): Promise<number> {
  return ((await speed(args, may))[0] ?? Number.NaN) / unit;
}

/** @param args - further ones for wrk @returns medians, by the name of what was measured */
async function measure(size: number, keepAlive: boolean, ...args: string[]) {
  await using endings = new AsyncDisposableStack();
  const contestants = await startContestants(size * KIB, endings);
  const loads = contestants.map(({ name, run }) => ({ name, run: () => run(keepAlive, ...args) }));
  for (const { run } of loads) await run(); // V8 compiles for some seconds
  const medians = await measureLoads(loads, RUNS);
  return new Map(loads.map(({ name }, index) => [name, medians[index]]));
}

function bySize(sizes: readonly Figures[], cell: (figures: HttpcryptFigures) => number): Table {
  const names = [...(sizes[0]?.keys() ?? [])];
  return table(
    SIZES.map((size) => `${size} KiB`),
    names.map((name) => [name, ...sizes.map((size) => size.get(name)).map((figures) => figures && cell(figures))]),
  );
}

/** Statements of the paper's text: its figures 3, 4 and 6 to 9 are plots. */
function besidePaper(small: Figures | undefined, kept: Figures, ciphers: Table, operations: readonly number[]): Table {
  const of = (name: string, figures = small) => figures?.get(name)?.requestsPerSecond ?? Number.NaN;
  const [endpoint, tickets, nginx, node] = [
    'HTTPCrypt',
    'HTTPCrypt, tickets',
    'HTTPS, nginx',
    'HTTPS, Node.js',
  ] as const;
  const chacha20 = (peer: keyof typeof CIPHERS, may: Instructions) => {
    const [own, other] = ['ChaCha20-Poly1305', peer].map((name) => {
      return Number(ciphers.rows[name]?.[ciphers.columns.indexOf(`${LARGEST} KiB, ${may}`)]);
    });
    return (own ?? Number.NaN) / (other ?? Number.NaN);
  };
  return table(
    ['of the paper', 'here'],
    [
      ['ChaCha20 beside AES-256', 'faster', chacha20('AES-256-GCM', 'all')],
      ['without AES instructions', null, chacha20('AES-256-GCM', 'without AES')],
      ['and SSSE3 only', '>2', chacha20('AES-256-GCM', 'SSSE3')],
      ['ChaCha20 beside AES-128', 'equal', chacha20('AES-128-GCM', 'all')],
      ...OPERATIONS.map(([name, paper], index) => [name, paper, operations[index]] as const),
      ['HTTPCrypt, 1 KiB, /s', 20_000, of(endpoint)],
      ['nginx, TLS, 1 KiB, /s', 6000, of(nginx)],
      ['HTTPCrypt beside nginx', 3.33, of(endpoint) / of(nginx)],
      ['beside HTTPS, Node.js', null, of(endpoint) / of(node)],
      ['with tickets', null, of(tickets) / of(node)],
      ['with keep-alive', null, of(endpoint, kept) / of(node, kept)],
    ],
  );
}
