/** Tables of docs/figures.md: rows of bench/results/bench.csv, each beside its peers. */
import { type SavedRow, savedRows } from './save.ts';

/** Rows of the file on one line of the table, whose values stand beside each other. */
interface BenchRow {
  readonly head: string;
  readonly rows: readonly string[];
  /** Goal of the ratio to a peer, where the file has no goals of its own. */
  readonly goal?: Goal | undefined;
}

type Goal = readonly [peer: string, 'least' | 'most', ratio: number];

const row = (head: string, rows: string | readonly string[], goal?: Goal): BenchRow => ({
  head,
  rows: [rows].flat(),
  goal,
});

const FLOOR = 'floor: forward proxy on node:http';
const PUBLISHED = ['all', 'nothing', 'one', 'a day of 315'];
const CACHES = { nginx: 'nginx', varnish: 'Varnish', 'squid-reverse': 'Squid' };

/** Lines under each heading of the page. */
const BENCH: Readonly<Record<string, readonly BenchRow[]>> = {
  'publisher and Reader': [
    row('`protect`, a file of 1 GiB', 'protect-1gib', ['cp -r', 'most', 1.5]),
    row('10,000 texts of 8 KiB', 'protect-10k'),
    row('the same, a document', 'protect-10k-size'),
    row(
      '`publish`, 100,000 documents',
      PUBLISHED.map((what) => `publish: directory, 100,000, ${what}`),
    ),
    row('Reader, 1 KiB from its cache', 'proxy-1k, read again'),
    row('without cache', 'proxy-1k, without cache'),
    row('first read', 'proxy-1k, first read', [FLOOR, 'least', 0.45]),
    row('64 KiB from its cache', 'proxy-64k, read again'),
    row('first read', 'proxy-64k, first read', [FLOOR, 'least', 0.45]),
    row('10 MiB from its cache', 'proxy-10m, read again'),
    row('first read', 'proxy-10m, first read', [FLOOR, 'least', 0.9]),
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
  'key server and caches': [
    row('key requests, SQLite', 'key-requests: SQLite', ['bare Express', 'least', 0.5]),
    row('PostgreSQL', 'key-requests: PostgreSQL'),
    row('two key servers', 'key-requests: two on PostgreSQL'),
    row('p99 at half the load, SQLite', 'key-requests: SQLite, p99 at half the load'),
    row('PostgreSQL', 'key-requests: PostgreSQL, p99 at half the load'),
    row('a TLS connection each', 'key-requests: TLS connection each'),
    row('resumed', 'key-requests: TLS connection each, resumed'),
    row('10,000 browsers in 6 s, p99', 'key-requests: 10000 browsers in 6 s, p99'),
    row('a key wrapped for 1,000,000 devices', 'wraps-1m: a day'),
    row('stored for a week', 'wraps-1m: a week, stored'),
    ...Object.entries(CACHES).map(([server, head]) =>
      row(
        `protected objects, ${head}`,
        ['1k', '64k', '10m'].map((length) => `cache-parity: ${server}, ${length}`),
      ),
    ),
  ],
};

/** Parts of peers' names that the page does without. */
const LONGER = /(?: file)?s? of their length|: .*|, to a directory|^the same (?=in clear)| of the same.*/g;

/** Writes a table in Markdown; `undefined` where there is no such table. @param missing - what stands in place of a value that is not there */
export function benchTable(name: string, missing: string): string | undefined {
  const saved = savedRows();
  const lines = BENCH[name]?.map(({ head, rows, goal }) => {
    const found = rows.map((each) => saved.filter(({ row }) => row === each));
    const values = together(found.map(([line]) => number(line?.value ?? missing)));
    return `| ${head} | ${values} | ${together(found.map((each) => beside(each, goal)))} | ${found[0]?.[0]?.date ?? ''} |`;
  });
  return lines && ['| row | value | ratio | measured |', '|---|--:|---|---|', ...lines].join('\n');
}

/** Says once what stands behind the first word of all. */
function together(texts: readonly string[]): string {
  const [rest = '', ...others] = new Set(texts.map((text) => text.replace(/^\S+/, '')));
  return others.length > 0 ? texts.join('; ') : texts.map((text) => text.split(' ', 1)).join('; ') + rest;
}

/** Ratios to the peers, and goals. @param found - lines of one row, of which those in the first one's unit stand beside it */
function beside(found: readonly SavedRow[], goal: Goal | undefined): string {
  const unit = unitOf(found[0]?.value ?? '');
  const peers = found.filter(({ value, peer }) => unitOf(value) === unit && peer !== 'goal');
  const goals = found.filter(({ peer }) => peer === 'goal');
  return [...peers.map((each) => ratio(each, goal)), ...goals.map(goalOf)].join('; ');
}

function ratio({ ratio: written, peer }: SavedRow, goal: Goal | undefined): string {
  const ratio = rounded(written);
  const text = `${ratio} ${peer.replace(LONGER, '')}`;
  if (goal?.[0] !== peer) return text;
  const isMet = goal[1] === 'least' ? Number(ratio) >= goal[2] : Number(ratio) <= goal[2];
  return `${text} (goal ${goal[2]}${isMet ? '' : ': **missed**'})`;
}

/** Says a goal that is a row of its own, and bounds the value: from below if that is a rate. */
function goalOf({ row, value, 'peer value': goal, ratio }: SavedRow): string {
  const isRate = row === 'web-reader-rate' || unitOf(value).endsWith('/s');
  const isMet = isRate ? Number(ratio) >= 1 : Number(ratio) <= 1;
  return `goal ${number(goal)}${isMet ? '' : ': **missed**'}`;
}

function unitOf(value: string): string {
  return value.replace(/^[\d.,]+ /, '');
}

/** Marks thousands. */
function number(value: string): string {
  return value.replace(/^\d+(?:\.\d+)?(?=$| )/, (digits) => Number(digits).toLocaleString('en'));
}

function rounded(ratio: string): string {
  const value = Number(ratio);
  return Number.isNaN(value) ? ratio : String(value >= 100 ? Math.round(value) : Number(value.toPrecision(2)));
}
