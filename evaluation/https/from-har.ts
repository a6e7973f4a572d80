/** Makes recordings.json anew: `node evaluation/https/from-har.ts FOLDER`, which has a clone of each of its sources as `OWNER/NAME`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../bench/measure.ts';
import { ENCODED, type Recordings, type Resource, SECURE, SHARED } from './recordings.ts';

const FILE = new URL('recordings.json', import.meta.url);

interface Header {
  readonly name: string;
  readonly value: string;
}

interface Entry {
  readonly startedDateTime: string;
  readonly pageref?: string;
  readonly _initiator?: string | { readonly url?: string };
  /** With its head, as WebPageTest counts. */
  readonly _bytesIn?: string;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly Header[];
    readonly bodySize?: number;
  };
  readonly response: {
    readonly status: number;
    readonly headers: readonly Header[];
    readonly redirectURL?: string;
    readonly bodySize?: number;
    readonly _transferSize?: number;
    readonly content: { readonly mimeType?: string };
  };
}

interface Source {
  readonly name: string;
  readonly source: string;
  readonly file: string;
}

interface Made extends Recordings {
  readonly about: string;
  readonly sources: readonly { readonly repository: string; readonly commit: string }[];
  readonly pages: (Recordings['pages'][number] & Source)[];
}

interface Log {
  readonly creator: { readonly name: string };
  readonly pages?: readonly { readonly id: string }[];
  readonly entries: readonly Entry[];
}

const recordings: Made = JSON.parse(readFileSync(FILE, 'utf8'));
const types: string[] = [];
const pages: unknown[] = [];
for (const page of recordings.pages) pages.push(await reduced(page));
const lines = (list: readonly unknown[]) => `[\n${list.map((each) => JSON.stringify(each)).join(',\n')}\n]`;
const { about, sources } = recordings;
writeFileSync(
  FILE,
  `{"about":${JSON.stringify(about)},\n"sources":${lines(sources)},\n"types":${JSON.stringify(types)},\n"pages":${lines(pages)}}\n`,
);

async function reduced({ name, source, file }: Source) {
  const { commit = '' } = recordings.sources.find(({ repository }) => repository === source) ?? {};
  const text = await runCommand('git', ['-C', join(process.argv[2] ?? '.', source), 'show', `${commit}:${file}`]);
  const { creator, pages: loads, entries }: Log = JSON.parse(text.replace(/^\uFEFF/, '')).log;
  const [first = { id: undefined }] = loads ?? [];
  const load = entries
    .filter(({ pageref, request, response }) => {
      return (pageref ?? first.id) === first.id && request.url.startsWith('http') && response.status >= 200;
    })
    .toSorted((a, b) => Date.parse(a.startedDateTime) - Date.parse(b.startedDateTime));
  const hosts = [...new Set(load.map(({ request }) => new URL(request.url).hostname))];
  const resources = load.map((entry, index) => resourceOf(entry, load.slice(0, index), hosts));
  return { name, source, file, on: load[0]?.startedDateTime.slice(0, 10), by: creator.name, hosts, resources };
}

function resourceOf(entry: Entry, before: readonly Entry[], hosts: readonly string[]): Resource {
  const { request, response } = entry;
  const head = lengthOf(response.headers);
  return [
    parentOf(entry, before),
    hosts.indexOf(new URL(request.url).hostname),
    placeOf(response.content.mimeType ?? headerOf(response.headers, 'content-type') ?? ''),
    lengthOf(request.headers) + request.url.length + Math.max(0, request.bodySize ?? 0),
    head,
    bodyOf(entry, head),
    (request.url.startsWith('https:') ? SECURE : 0) |
      (isShared(entry) ? SHARED : 0) |
      (headerOf(response.headers, 'content-encoding') === undefined ? 0 : ENCODED),
  ];
}

function parentOf({ _initiator: by, request }: Entry, before: readonly Entry[]): number {
  const initiator = typeof by === 'string' ? by : by?.url;
  const asked = [initiator, headerOf(request.headers, 'referer')].filter((url) => url !== undefined);
  const places = [
    before.findLastIndex(({ response }) => response.redirectURL === request.url),
    ...asked.map((url) => before.findLastIndex((other) => other.request.url === url)),
  ];
  return places.find((place) => place >= 0) ?? Math.min(0, before.length - 1);
}

function placeOf(given: string): number {
  const [type = ''] = /[\w-]+\/[^;\s]+/.exec(given.toLowerCase()) ?? [];
  const known = types.indexOf(type);
  return known < 0 ? types.push(type) - 1 : known;
}

/** As HTTP/1.1 has them, whatever the version was. */
function lengthOf(headers: readonly Header[]): number {
  return headers.reduce((sum, { name, value }) => sum + name.length + value.length + 4, 19);
}

/** Recorders disagree about which of these they know; the others are −1 or 0 then. */
function bodyOf({ _bytesIn = '0', response: { bodySize = 0, _transferSize = 0 } }: Entry, head: number): number {
  return [bodySize, _transferSize - head, Number(_bytesIn) - head].find((bytes) => bytes > 0) ?? 0;
}

/** RFC 9111, sections 3 and 4.2; answers with cookies are left out, as most caches do. */
function isShared({ request, response: { status, headers } }: Entry): boolean {
  const control = headerOf(headers, 'cache-control') ?? '';
  if (request.method !== 'GET' || status !== 200 || headerOf(request.headers, 'authorization') !== undefined)
    return false;
  if (/no-store|no-cache|private/i.test(control) || headerOf(headers, 'vary')?.includes('*')) return false;
  return headerOf(headers, 'set-cookie') === undefined && isFresh(headers, control);
}

/** Whether it may be given out again for any time at all without asking. */
function isFresh(headers: readonly Header[], control: string): boolean {
  const said = /s-maxage=(\d+)/i.exec(control) ?? /max-age=(\d+)/i.exec(control);
  if (said) return Number(said[1]) > 0;
  const expires = headerOf(headers, 'expires');
  if (expires !== undefined) return Date.parse(expires) > Date.parse(headerOf(headers, 'date') ?? '');
  return headerOf(headers, 'last-modified') !== undefined;
}

function headerOf(headers: readonly Header[], wanted: string): string | undefined {
  return headers.find(({ name }) => name.toLowerCase() === wanted)?.value;
}
