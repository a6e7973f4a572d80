/** What each server does with our configuration: measured by matrix.test.ts, and shown in docs/caches.md. */
import { HOST_NAMES, SERVER_NAMES, type ServerName } from '../../cache-config/parameters.ts';

/** Measured each time; the further ones by `npm run test:caches`. */
export const QUICK = ['cold', 'warm', 'revalidated', 'rangeCold', 'rangeWarm', 'missing', 'fallback', 'plaintext'] as const;
export const COLUMNS = [...QUICK, 'gigabyte', 'publication', 'restart', 'down', 'tiers'] as const;
export type Column = (typeof COLUMNS)[number];

const TITLES: Readonly<Record<Column, string>> = {
  cold: 'page, cold',
  warm: 'warm',
  revalidated: 'revalidated by ETag',
  rangeCold: 'range, cold',
  rangeWarm: 'range, warm',
  missing: '404 stays 404',
  fallback: 'leads to the reading site',
  plaintext: 'plaintext stored',
  gigabyte: '1 GB object kept',
  publication: 'new publication while readers read',
  restart: 'kept over a restart',
  down: 'host down: expired copies',
  tiers: '2 and 3 tiers',
};

const MEMORY_ONLY = 'in memory only';
/** Where a server does not, and why. */
const NOT: Partial<Record<ServerName, Partial<Record<Column, string>>>> = {
  'apache-cache': { rangeWarm: 'a range is passed through until the object was asked for whole' },
  varnish: { restart: MEMORY_ONLY, down: 'for 30 s' },
  haproxy: {
    revalidated: 'fetches anew',
    rangeWarm: 'passes ranges through',
    gigabyte: 'small objects only',
    restart: MEMORY_ONLY,
    down: 'fresh ones only',
  },
};
/** What means nothing to a server without a cache. */
const OF_CACHES: readonly Column[] = ['warm', 'revalidated', 'rangeWarm', 'plaintext', 'gigabyte', 'restart', 'down', 'tiers'];

/** Why a server does not; `undefined`: it does. */
export function whyNot(name: ServerName, column: Column): string | undefined {
  return NOT[name]?.[column];
}

/** Whether there is anything to measure. */
export function applies(name: ServerName, column: Column): boolean {
  return !((HOST_NAMES as readonly string[]).includes(name) && OF_CACHES.includes(column));
}

/** The table of docs/caches.md. */
export function table(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const cell = (name: ServerName, column: Column) => {
    if (!applies(name, column)) return '–';
    if (column === 'plaintext') return 'none';
    const why = whyNot(name, column);
    return why === undefined ? 'yes' : `no: ${why}`;
  };
  return [
    row(['', ...SERVER_NAMES]),
    row(['---', ...SERVER_NAMES.map(() => '---')]),
    ...COLUMNS.map((column) => row([TITLES[column], ...SERVER_NAMES.map((name) => cell(name, column))])),
  ].join('\n');
}
