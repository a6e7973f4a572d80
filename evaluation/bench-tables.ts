/** Tables of docs/figures.md: rows of bench/results/bench.csv, each beside its peers. */
import { type SavedRow, savedRows } from '../bench/save.ts';

/** `goal`: of the ratio to a peer, where the row has no peer of this name. */
interface BenchRow {
  readonly head: string;
  readonly row: string;
  readonly goal?: readonly [peer: string, 'least' | 'most', ratio: number];
}

const row = (head: string, name: string, goal?: BenchRow['goal']): BenchRow => ({
  head,
  row: name,
  ...(goal && { goal }),
});

const FLOOR = 'floor: forward proxy on node:http';
const CACHES = { nginx: 'nginx', varnish: 'Varnish', 'squid-reverse': 'Squid' };

export const BENCH: Readonly<Record<string, readonly BenchRow[]>> = {
  'publisher and Reader': [
    row('`protect`, a file of 1 GiB', 'protect-1gib', ['cp -r', 'most', 1.5]),
    row('10,000 texts of 8 KiB', 'protect-10k'),
    row('the same, a document', 'protect-10k-size'),
    row('`publish`, 100,000 documents: all', 'publish: directory, 100,000, all'),
    row('nothing changed', 'publish: directory, 100,000, nothing'),
    row('one changed', 'publish: directory, 100,000, one'),
    row('a day of 315', 'publish: directory, 100,000, a day of 315'),
    row('Reader, 1 KiB from its cache', 'proxy-1k, read again'),
    row('1 KiB without cache', 'proxy-1k, without cache'),
    row('1 KiB, first read', 'proxy-1k, first read', [FLOOR, 'least', 0.45]),
    row('64 KiB from its cache', 'proxy-64k, read again'),
    row('64 KiB, first read', 'proxy-64k, first read', [FLOOR, 'least', 0.45]),
    row('10 MiB from its cache', 'proxy-10m, read again'),
    row('10 MiB, first read', 'proxy-10m, first read', [FLOOR, 'least', 0.9]),
    row('cold start, 1,000,000 documents', 'publication-check: cold start'),
    row('10,000 documents', 'publication-check: 10000'),
    row('a look-up, 1,000,000 documents', 'publication-check: look-up'),
  ],
  'in-browser reader': [
    row('link to article, signed in', 'web-reader-first: link to article, signed in'),
    row('"Read" on a teaser to article', 'web-reader-first: teaser to article, signed in'),
    row('link of an invitation to its page', 'web-reader-first: invitation'),
    row('tap there to front page', 'web-reader-first: tap to front page'),
    row('public front page, stranger', 'web-reader-first: public front page, stranger'),
    row('next article', 'web-reader-first: next article'),
    row('link to article, the strict way', 'web-reader-first: link to article, strict way'),
    row('front page, cold', 'web-reader-page: front page, cold'),
    row('warm', 'web-reader-page: front page, warm'),
    row('first frame of a film of 50 MB, cold', 'web-reader-page: first frame of 50 MB, cold'),
    row('warm', 'web-reader-page: first frame of 50 MB, warm'),
    row('download of 200 MB', 'web-reader-rate'),
    row('size', 'web-reader-size'),
  ],
  'key server, HTTPCrypt and caches': [
    row('key requests, SQLite', 'key-requests: SQLite', ['bare Express', 'least', 0.5]),
    row('PostgreSQL', 'key-requests: PostgreSQL'),
    row('two key servers, two cores', 'key-requests: two on PostgreSQL'),
    row('p99 at half the load, SQLite', 'key-requests: SQLite, p99 at half the load'),
    row('PostgreSQL', 'key-requests: PostgreSQL, p99 at half the load'),
    row('a TLS connection each', 'key-requests: TLS connection each'),
    row('resumed', 'key-requests: TLS connection each, resumed'),
    row('10,000 browsers in 6 s, p99', 'key-requests: 10000 browsers in 6 s, p99'),
    row('HTTPCrypt, 1 KiB', 'httpcrypt-1k, no keep-alive', ['HTTPS, Node.js', 'least', 3.3]),
    row('with tickets', 'httpcrypt-1k, no keep-alive, tickets', ['HTTPS, Node.js', 'least', 4]),
    row('kept connections', 'httpcrypt-1k, keep-alive'),
    row('with tickets', 'httpcrypt-1k, keep-alive, tickets', ['HTTPS, Node.js', 'least', 0.4]),
    ...Object.entries(CACHES).flatMap(([server, head]) =>
      Object.entries({ '1k': '1 KiB', '64k': '64 KiB', '10m': '10 MiB' }).map(([length, size]) =>
        row(`protected objects, ${head}, ${size}`, `cache-parity: ${server}, ${length}`),
      ),
    ),
  ],
};

/** In Markdown; `undefined` where there is no such table. @param missing - what stands in place of a value that is not there */
export function benchTable(name: string, missing: string): string | undefined {
  const saved = savedRows();
  const lines = BENCH[name]?.map(({ head, row, goal }) => {
    const found = saved.filter((each) => each.row === row);
    const [first] = found;
    if (first === undefined) return `| ${head} | ${missing} | | |`;
    const goals = saved.filter((each) => each.row === row && each.peer === 'goal');
    const peers = found.filter(({ value, peer }) => unitOf(value) === unitOf(first.value) && peer !== 'goal');
    const beside = [...peers.map((each) => ratio(each, goal)), ...goals.map(goalOf)];
    return `| ${head} | ${number(first.value)} | ${beside.join('; ')} | ${first.date} |`;
  });
  return lines && ['| row | value | ratio | measured |', '|---|--:|---|---|', ...lines].join('\n');
}

function ratio({ ratio: written, peer }: SavedRow, goal: BenchRow['goal']): string {
  const ratio = rounded(written);
  const text = `${ratio} ${peer.replace(/:.*/, '')}`;
  if (goal?.[0] !== peer) return text;
  const isMet = goal[1] === 'least' ? Number(ratio) >= goal[2] : Number(ratio) <= goal[2];
  return `${text} (goal ${goal[2]}${isMet ? '' : ': **missed**'})`;
}

/** Of a row of its own, whose value the goal bounds: from below if it is a rate. */
function goalOf({ row, value, 'peer value': goal, ratio }: SavedRow): string {
  const isRate = row === 'web-reader-rate' || unitOf(value).endsWith('/s');
  const isMet = isRate ? Number(ratio) >= 1 : Number(ratio) <= 1;
  return `goal ${number(`${goal} ${unitOf(value)}`)}${isMet ? '' : ': **missed**'}`;
}

function unitOf(value: string): string {
  return value.replace(/^[\d.,]+ /, '');
}

/** Thousands are marked. */
function number(value: string): string {
  return value.replace(/^\d+(?:\.\d+)?(?=$| )/, (digits) => Number(digits).toLocaleString('en'));
}

function rounded(ratio: string): string {
  const value = Number(ratio);
  return Number.isNaN(value) ? ratio : String(value >= 100 ? Math.round(value) : Number(value.toPrecision(2)));
}
