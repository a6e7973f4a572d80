/** Capabilities of each server with our configuration, measured by matrix.test.ts and shown in docs/caches.md. */
import { HOST_NAMES, SERVER_NAMES, type ServerName } from '../../cache-config/parameters.ts';

/** Columns measured each time; `npm run test:release -- matrix` measures the others too. */
export const QUICK = [
  'cold',
  'warm',
  'revalidated',
  'rangeCold',
  'rangeWarm',
  'missing',
  'fallback',
  'plaintext',
] as const;
export const COLUMNS = [...QUICK, 'gigabyte', 'publication', 'restart', 'down', 'tiers'] as const;
export type Column = (typeof COLUMNS)[number];

const TITLES: Readonly<Record<Column, string>> = {
  cold: 'hand on every page, picture and film as it is, with its media type and header fields',
  warm: 'answer a second reader without asking the content host',
  revalidated: 'asks by ETag when a copy has expired',
  rangeCold: 'answer ranges of bytes of what they do not have yet',
  rangeWarm: 'answers a range from its copy after a range',
  missing: 'answer 404 where there is nothing, and let pages of other hosts see it',
  fallback: 'lead to the reading site where there is no fallback page, with the query',
  plaintext: 'store no plaintext, on disk or in memory',
  gigabyte: 'keeps an object of 1 GB, given the room',
  publication: 'show a new publication while readers read, and never half of one',
  restart: 'keeps its copies over a restart',
  down: 'content host down: expired copies',
  tiers: 'work in two and three tiers',
};

const MEMORY_ONLY = 'in memory only';
/** Reasons for which a server does not. */
const NOT: Partial<Record<ServerName, Partial<Record<Column, string>>>> = {
  'apache-cache': { rangeWarm: 'a range is passed through until the object was asked for whole' },
  varnish: { restart: MEMORY_ONLY, down: 'for 30 s' },
  haproxy: {
    revalidated: 'fetches again',
    rangeWarm: 'passes ranges through',
    gigabyte: 'small objects only',
    restart: MEMORY_ONLY,
    down: 'fresh ones only',
  },
};
/** Columns that mean nothing for a server without a cache. */
const OF_CACHES: readonly Column[] = ['warm', 'revalidated', 'rangeWarm', 'plaintext', 'restart', 'down', 'tiers'];

/** Returns why a server does not; `undefined`: it does. */
export function whyNot(name: ServerName, column: Column): string | undefined {
  return NOT[name]?.[column];
}

/** Tells whether there is anything to measure. */
export function applies(name: ServerName, column: Column): boolean {
  return !((HOST_NAMES as readonly string[]).includes(name) && OF_CACHES.includes(column));
}

/** Returns the report in docs/caches.md: a list of what all servers do, and a table of what only some caches do. */
export function report(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const does = (name: ServerName, column: Column) => !applies(name, column) || whyNot(name, column) === undefined;
  const bySome = COLUMNS.filter((column) => !SERVER_NAMES.every((name) => does(name, column)));
  const byAll = COLUMNS.filter((column) => !bySome.includes(column)).map((column) => TITLES[column]);
  const caches = SERVER_NAMES.filter((name) => applies(name, 'warm'));
  const cell = (name: ServerName, column: Column) => {
    const why = whyNot(name, column);
    return why === undefined ? 'yes' : `no: ${why}`;
  };
  return [
    'All servers, as far as they keep anything:',
    '',
    ...byAll.map((title) => `- ${title}`),
    '',
    row(['cache', ...bySome.map((column) => TITLES[column])]),
    row(Array(bySome.length + 1).fill('---')),
    ...caches.map((name) => row([`\`${name}\``, ...bySome.map((column) => cell(name, column))])),
  ].join('\n');
}
