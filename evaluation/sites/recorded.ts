/**
 * Pages as others have recorded them (HTTP Archive, `.har`), from public repositories. They are not part of this one: `WISPR_RECORDED` names a folder with
 * clones of those. From the headers follows what a shared cache could have served.
 */
import { join } from 'node:path';
import { runCommand } from '../../bench/measure.ts';
import { readResults, type Table, table } from '../results.ts';

interface Recording {
  readonly name: string;
  readonly repository: string;
  readonly commit: string;
  readonly path: string;
}

const PAGEXRAY = {
  repository: 'sitespeedio/pagexray',
  commit: 'c9f22741d20bdb171b695de66fe2614d43fdb961',
};
const PERF_CASCADE = { repository: 'micmro/PerfCascade', commit: '141951297cfdb13b9692066ba4e6f1c7eebf1248' };
const HAR2TREE = { repository: 'Lookyloo/har2tree', commit: 'ecab3c33f9c4fdae0468685a0cd2f14b52a1d96f' };

/** Front pages, as they were. */
const RECORDINGS: readonly Recording[] = [
  { name: 'aftonbladet.se', ...PAGEXRAY, path: 'test/files/contentTypes/aftonbladet.se.har' },
  { name: 'nytimes.com', ...PAGEXRAY, path: 'test/files/www.nytimes.com.har' },
  { name: 'bbc.co.uk', ...PERF_CASCADE, path: 'src/test-data/www.bbc.co.uk.160529_8V_7R3.har' },
  { name: 'github.com', ...PERF_CASCADE, path: 'src/test-data/chrome_github.com_home.har' },
  { name: 'buzzfeed.com', ...HAR2TREE, path: 'tests/data/buzzfeed.har' },
  { name: 'liberation.fr', ...HAR2TREE, path: 'tests/data/libe.har' },
  { name: 'lalibre.be', ...HAR2TREE, path: 'tests/data/lalibre/001.har' },
  { name: 'expressen.se', ...PAGEXRAY, path: 'test/files/requests/expressen.har' },
  { name: 'ferguson.com', ...PAGEXRAY, path: 'test/files/contentTypes/ferguson.har' },
];

/** What a recording says. Bytes are those of bodies on the wire, or with headers where the recorder knows nothing else. */
interface Recorded extends Recording {
  /** The day. */
  readonly on: string;
  readonly requests: number;
  readonly bytes: number;
  /** Of these: by HTTPS; good for a shared cache; both good for one and not by HTTPS; text that was not compressed. */
  readonly https: number;
  readonly cacheable: number;
  readonly served: number;
  readonly loose: number;
}

interface Header {
  readonly name: string;
  readonly value: string;
}

interface Entry {
  readonly startedDateTime: string;
  /** With its headers, as WebPageTest counts. */
  readonly _bytesIn?: string;
  readonly request: { readonly method: string; readonly url: string; readonly headers: readonly Header[] };
  readonly response: {
    readonly status: number;
    readonly headers: readonly Header[];
    readonly bodySize?: number;
    readonly _transferSize?: number;
    readonly content: { readonly mimeType?: string };
  };
}

/** @returns none where no folder is named */
export async function recordedPages(folder = process.env.WISPR_RECORDED): Promise<Recorded[]> {
  if (folder === undefined) return [];
  return Promise.all(
    RECORDINGS.map(async (recording) => {
      const { repository, commit, path } = recording;
      const clone = join(folder, repository.split('/')[1] ?? '');
      const text = await runCommand('git', ['-C', clone, 'show', `${commit}:${path}`]);
      return { ...recording, ...summed((JSON.parse(text) as { log: { entries: Entry[] } }).log.entries) };
    }),
  );
}

/** Shares of bytes in per cent. Recordings do not change: without the clones, the tables stay as they were. */
export function recordedTables(pages: readonly Recorded[]): Record<string, Table> {
  if (pages.length === 0) {
    const { recorded, repositories } = readResults('sites').tables;
    return { ...(recorded && { recorded }), ...(repositories && { repositories }) };
  }
  const sum = (some: readonly Recorded[], of: (page: Recorded) => number) =>
    some.reduce((total, page) => total + of(page), 0);
  const cellsOf = (some: readonly Recorded[]) => {
    const bytes = sum(some, (page) => page.bytes);
    const parts = (['https', 'cacheable', 'served', 'loose'] as const).map((part) => sum(some, (page) => page[part]));
    return [sum(some, ({ requests }) => requests), bytes / 1024, ...parts.map((part) => (100 * part) / bytes)];
  };
  const rows = pages.map((page): [string, ...(string | number)[]] => [page.name, page.on, ...cellsOf([page])]);
  const columns = ['recorded on', 'requests', 'KiB', 'HTTPS', 'for a shared cache', 'and HTTP', 'text as it is'];
  return {
    recorded: table(columns, [...rows, ['together', null, ...cellsOf(pages)]]),
    repositories: table(
      ['commit'],
      RECORDINGS.map(({ repository, commit }) => [repository, commit]),
    ),
  };
}

function summed(entries: readonly Entry[]) {
  const sum = (isCounted: (entry: Entry) => boolean) =>
    entries.filter(isCounted).reduce((total, entry) => total + bytesOf(entry), 0);
  return {
    on: entries[0]?.startedDateTime.slice(0, 10) ?? '',
    requests: entries.length,
    bytes: sum(() => true),
    https: sum(isHttps),
    cacheable: sum(isCacheable),
    served: sum((entry) => isCacheable(entry) && !isHttps(entry)),
    loose: sum(isLoose),
  };
}

/** Recorders disagree about which of these they know; the others are −1 or 0 then. */
function bytesOf({ _bytesIn = '0', response: { bodySize = 0, _transferSize = 0 } }: Entry): number {
  return [_transferSize, bodySize, Number(_bytesIn)].find((bytes) => bytes > 0) ?? 0;
}

function isHttps({ request: { url } }: Entry): boolean {
  return url.startsWith('https:');
}

/** RFC 9111, sections 3 and 4.2, for a cache that many use; answers with cookies are left out, as most caches do. */
function isCacheable({ request, response }: Entry): boolean {
  const { status, headers } = response;
  const control = headerOf(headers, 'cache-control') ?? '';
  if (request.method !== 'GET' || status !== 200 || headerOf(request.headers, 'authorization') !== undefined)
    return false;
  if (/no-store|no-cache|private/i.test(control) || headerOf(headers, 'vary')?.includes('*')) return false;
  if (headerOf(headers, 'set-cookie') !== undefined) return false;
  return isFresh(headers, control);
}

/** Whether it may be given out again for any time at all without asking. */
function isFresh(headers: readonly Header[], control: string): boolean {
  const said = /s-maxage=(\d+)/i.exec(control) ?? /max-age=(\d+)/i.exec(control);
  if (said) return Number(said[1]) > 0;
  const expires = headerOf(headers, 'expires');
  if (expires !== undefined) return Date.parse(expires) > Date.parse(headerOf(headers, 'date') ?? '');
  return headerOf(headers, 'last-modified') !== undefined;
}

/** Text that went as it is: what a program in the path could have made smaller. */
function isLoose({ response: { headers, content } }: Entry): boolean {
  const type = content.mimeType ?? headerOf(headers, 'content-type') ?? '';
  return /^text\/|javascript|json|svg|xml/i.test(type) && headerOf(headers, 'content-encoding') === undefined;
}

function headerOf(headers: readonly Header[], wanted: string): string | undefined {
  return headers.find(({ name }) => name.toLowerCase() === wanted)?.value;
}
