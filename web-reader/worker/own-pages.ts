/**
 * Answers of the worker below `/-/` by itself, so that they are there without a network: the library, and what library and sheet show and ask for.
 * Pages of this origin can ask for all of it; it says and changes nothing that they could not read and write in the origin's storage.
 */
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { documentPathOf, urlPathOf } from '../../core/site/path.ts';
import { initialIcon } from '../../reading/icon.ts';
import { savedPages } from '../../words/en/browser.ts';
import type { About } from '../about.ts';
import { LIBRARY } from '../names.ts';
import { type IssueContext, keepIssue, removeIssue, room, shownIssues } from './issues.ts';
import { nameOf, namesKept } from './kept-objects.ts';
import { LONGEST_TITLE } from './links.ts';
import { answerScript, scriptTag } from './own-scripts.ts';
import { HEADERS, shellFor } from './pages.ts';
import { nowInSeconds } from './publication.ts';
import type { WebReader } from './reader.ts';
import { type FetchEvent, scope } from './scope.ts';

const MANIFEST = '/-/app.webmanifest';
/** Pages that are listed as opened. */
const MOST_OPENED = 50;
/** The name of a kept page: its path with the hash of its head in it. */
const PAGE = /^(.*\/)[0-9a-f]{64}\.([^/]+\.html)\.protected$/;

const SVG = { type: 'image/svg+xml', sizes: 'any' };

type PageHandler = (reader: WebReader, event: FetchEvent, members: URLSearchParams) => Promise<Response> | Response;

const PAGES: Readonly<Record<string, PageHandler>> = {
  [LIBRARY]: () => shellFor(savedPages, `<link rel="manifest" href="${MANIFEST}">${scriptTag('sheet', 'defer')}`),
  '/-/page.js': (_reader, { request }) => answerScript(request),
  '/-/sheet.js': (_reader, { request }) => answerScript(request),
  '/-/about.json': async (reader, _event, members) => inJson(await about(reader, members.get('path'))),
  [MANIFEST]: async (reader) => inJson(await manifest(reader), 'application/manifest+json'),
};

/** @returns `undefined` where the origin's server answers */
export function answerOwn(reader: WebReader, event: FetchEvent): Promise<Response> | undefined {
  const { method, mode, url } = event.request;
  const { pathname, searchParams } = new URL(url);
  const answer = method === 'GET' ? PAGES[pathname] : undefined;
  if (answer) return Promise.resolve(answer(reader, event, searchParams));
  // Pages of this origin alone: a window can be led here from anywhere.
  if (method !== 'POST' || mode === 'navigate' || pathname !== '/-/kept') return undefined;
  return change(reader, event, searchParams);
}

/** Keeps an issue, or removes one or everything. Work that takes longer goes on beside. */
async function change(reader: WebReader, event: FetchEvent, members: URLSearchParams): Promise<Response> {
  const work = await contextOf(reader);
  const [keep, remove] = [members.get('keep'), members.get('remove')];
  if (remove !== null) await removeIssue(work, remove || undefined);
  const set = keep === null ? undefined : (await entryAt(work, keep))?.set;
  if (set !== undefined) event.waitUntil(keepIssue(work, set, (members.get('title') ?? '').slice(0, LONGEST_TITLE)));
  return new Response(null, { status: 204 });
}

/** @param path - URL path of a page; `null`: of none */
async function about(reader: WebReader, path: string | null): Promise<About> {
  const work = await contextOf(reader);
  const { publication } = work;
  const { name, accent } = await reader.masthead();
  const { timestamp } = publication.state ?? {};
  const { gifts, grace, keptAfterGrace } = publication.settings;
  const set = path === null ? undefined : (await entryAt(work, path))?.set;
  return {
    name,
    ...accent,
    logo: await logoOf(work),
    confirmed: timestamp?.version,
    isFresh: timestamp !== undefined && nowInSeconds() < timestamp.expires,
    until: timestamp === undefined || keptAfterGrace ? undefined : timestamp.expires + grace,
    site: scope.wisprSite.site,
    gives: gifts !== undefined,
    vault: scope.wisprSite.reading,
    ...(await room()),
    set,
    title: set && (await work.store.keys.find(set))?.title,
    issues: path !== null && set === undefined ? [] : await shownIssues(work, set),
    opened: path === null ? await opened(work) : [],
  };
}

/** URL paths of pages that were only read, the latest first. */
async function opened({ find }: IssueContext): Promise<string[]> {
  const paths: string[] = [];
  for (const name of (await namesKept()).reverse()) {
    const [, folder = '', file = ''] = PAGE.exec(name) ?? [];
    const path = documentPathOf(folder + file);
    const entry = path && (await find(path).catch(() => undefined));
    if (entry && nameOf(path, entry) === name) paths.push(folder + file);
    if (paths.length >= MOST_OPENED) break;
  }
  return paths;
}

async function manifest(reader: WebReader) {
  const { name, accent } = await reader.masthead();
  const logo = await logoOf(await contextOf(reader));
  return {
    name,
    short_name: name,
    start_url: '/',
    scope: '/',
    display: 'standalone',
    theme_color: accent.light,
    background_color: '#fdfcf9',
    icons: [
      ...(logo?.endsWith('.svg') ? [{ src: logo, ...SVG }] : []), // the size of other logos is not known
      { src: initialIcon(name, accent), ...SVG },
    ],
  };
}

/** URL path of the publisher's logo, where it is public. */
async function logoOf({ publication, find }: IssueContext): Promise<string | undefined> {
  const { logo } = publication.settings;
  const entry = logo && (await find(logo).catch(() => undefined));
  return entry && entry.set === undefined ? urlPathOf(logo as string) : undefined;
}

/** @param path - URL path */
async function entryAt({ publication, find }: IssueContext, path: string): Promise<DocumentEntry | undefined> {
  const target = await publication.resolve(path, nowInSeconds()).catch(() => undefined);
  if (target?.kind === 'document') return target.entry;
  const known = documentPathOf(path);
  return known === undefined ? undefined : find(known).catch(() => undefined);
}

/** Fetches nothing: the publication that is at hand has to do. */
async function contextOf(reader: WebReader): Promise<IssueContext> {
  const session = await reader.session();
  const { store, publication: keeper } = session;
  await keeper.publication.load();
  const past = await keeper.past().catch(() => undefined);
  const find = (path: string) => (past?.publication ?? keeper.publication).document(path, past?.time ?? nowInSeconds());
  return { store, publication: keeper.publication, find, read: (found) => reader.read(session, found) };
}

function inJson(value: object, type = 'application/json'): Response {
  return new Response(JSON.stringify(value), { headers: { ...HEADERS, 'content-type': type } });
}
