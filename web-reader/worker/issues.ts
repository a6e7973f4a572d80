/**
 * Issues that a reader keeps on purpose: all documents of one set, and the public ones that its pages show or lead to. Each is read as a page
 * would read it, so every block is verified, and what is kept is ciphertext. What is recorded of an issue is for the reader's eyes only: pages of this
 * origin can write it, and nothing is shown or left out for it.
 */
import { CodedError } from '../../core/errors.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { listDocuments } from '../../core/publication/listing.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { urlPathOf } from '../../core/site/path.ts';
import type { KeptIssue, ShownIssue } from '../about.ts';
import { type OriginStore, STATE } from '../store.ts';
import { keepFor, nameOf, namesKept, removeKept } from './kept-objects.ts';
import { linksIn, titleOf } from './links.ts';
import { nowInSeconds } from './publication.ts';

/** Documents of one issue, and bytes of the longest that is kept with it. */
const MOST_DOCUMENTS = 2_000;
const LONGEST = 16_777_216;
/** Documents that are fetched at the same time. */
const LANES = 4;
/** Documents between two records, which outlive the worker. */
const SAVED_EACH = 20;
/** Bytes that have to be free, so that an issue does not push out what the browser needs. */
const ROOM = 33_554_432;

interface Issue extends KeptIssue {
  /** Paths of its documents, as far as they are known. */
  documents: string[];
  running: boolean;
}

export interface IssueContext {
  readonly store: OriginStore;
  readonly publication: SitePublication;
  /** Finds the entry of a document that may be shown here. */
  readonly find: (path: string) => Promise<DocumentEntry | undefined>;
  /** Reads a document as a page would. */
  readonly read: (found: { readonly path: string; readonly entry: DocumentEntry }) => Promise<Response>;
}

/**
 * Issues that were begun, by id, as they are at this moment: where there is no room, no record of them is kept either. A run whose issue is
 * not here any more was removed, or begun again since, and stops.
 */
const begun = new Map<string, Issue>();

/** The issues that are kept, or were begun. @param only - the id of one */
export async function shownIssues({ store, find }: IssueContext, only?: string): Promise<ShownIssue[]> {
  const shown: ShownIssue[] = [];
  for (const [id, issue] of Object.entries(await readIssues(store))) {
    if (only !== undefined && id !== only) continue;
    const names = new Set(await namesKept(id));
    let kept = 0;
    for (const path of issue.documents) {
      const entry = await find(path).catch(() => undefined);
      if (entry && names.has(nameOf(path, entry))) kept += 1;
    }
    shown.push({ ...issue, id, documents: issue.documents.length, kept, running: begun.get(id)?.running ?? false });
  }
  return shown;
}

/** @param id - `undefined`: everything that is kept, also what was only read */
export async function removeIssue({ store }: IssueContext, id: string | undefined): Promise<void> {
  for (const each of id === undefined ? [...begun.keys()] : [id]) begun.delete(each);
  const issues = await readIssues(store);
  await store.state.put(STATE.issues, Object.fromEntries(Object.entries(issues).filter(([each]) => id && each !== id)));
  await removeKept(id);
}

/**
 * Keeps an issue, or what is still missing of it. Does nothing while that is under way.
 *
 * @param title - what to call it where the key server does not say
 */
export async function keepIssue(work: IssueContext, id: string, title: string): Promise<void> {
  if (begun.get(id)?.running) return;
  const issue: Issue = { title, documents: [], pages: [], left: [], bytes: 0, running: true };
  begun.set(id, issue);
  const { store } = work;
  const save = async () => {
    if (begun.get(id) === issue) await store.state.put(STATE.issues, { ...(await readIssues(store)), [id]: issue });
  };
  try {
    issue.title = (await store.keys.find(id))?.title ?? title;
    await save();
    if ((await room()).left < ROOM) issue.trouble = 'full';
    else await keepAll(work, id, issue, save);
  } catch (error) {
    issue.trouble = error instanceof DOMException && error.name === 'QuotaExceededError' ? 'full' : 'network';
  } finally {
    await save().catch(() => undefined);
    issue.running = false;
  }
}

/** Returns the bytes that the browser gives this origin. */
export async function room(): Promise<{ used: number; left: number }> {
  const { quota = 0, usage = 0 } = await navigator.storage.estimate();
  return { used: usage, left: quota - usage };
}

async function keepAll(work: IssueContext, id: string, issue: Issue, save: () => Promise<void>): Promise<void> {
  const { publication } = work;
  const { logo } = publication.settings; // the library shows it
  if (logo !== undefined && (await work.find(logo))?.set === undefined) issue.documents.push(logo);
  for await (const { path, entry } of listDocuments(publication, nowInSeconds(), () => undefined)) {
    if (entry.set === id && issue.documents.length < MOST_DOCUMENTS) issue.documents.push(path);
  }
  await save();
  const known = new Set(issue.documents);
  let next = 0;
  const lane = async () => {
    while (next < issue.documents.length && !issue.trouble) {
      const path = issue.documents[next++] ?? '';
      if (begun.get(id) !== issue) return;
      for (const link of await keepOne(work, id, issue, path).catch(skipInvalid)) {
        if (known.has(link) || known.size >= MOST_DOCUMENTS) continue;
        known.add(link);
        issue.documents.push(link);
      }
      if (next % SAVED_EACH === 0) await save();
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane)); // a lane that finds more goes on
}

/** @returns the public documents that it needs */
async function keepOne({ publication, read }: IssueContext, id: string, issue: Issue, path: string): Promise<string[]> {
  const entry = await publication.document(path, nowInSeconds());
  if (entry === undefined) return [];
  const answer = await read({ path, entry });
  const { headers, body } = answer;
  const [type = '', length] = [headers.get('content-type') ?? '', Number(headers.get('content-length') ?? 0)];
  if (length > LONGEST) {
    await body?.cancel();
    issue.left.push([type.split('/', 1)[0] ?? '', length]);
    return [];
  }
  const [isPage, isStyle] = ['text/html', 'text/css'].map((each) => type.startsWith(each));
  const text = isPage || isStyle ? await answer.text() : '';
  if (!isPage && !isStyle) await body?.pipeTo(new WritableStream());
  if (begun.get(id) !== issue) return [];
  const kept = await keepFor(id, path, entry);
  if (kept === undefined) issue.trouble = 'full';
  else issue.bytes += kept;
  if (isPage && entry.set === id) issue.pages.push([urlPathOf(path), titleOf(text)]);
  const found: string[] = [];
  for (const link of linksIn(text, urlPathOf(path))) {
    const target = await publication.resolve(link, nowInSeconds());
    if (target.kind === 'document' && target.entry.set === undefined) found.push(target.path);
  }
  return found;
}

/** A document that is no good is left out, and the rest is kept. */
function skipInvalid(error: unknown): string[] {
  if (!(error instanceof CodedError) || error.code === 'content-host-unreachable') throw error;
  return [];
}

async function readIssues(store: OriginStore): Promise<Record<string, Issue>> {
  const issues = ((await store.state.get(STATE.issues)) ?? {}) as Record<string, Issue>;
  const isGood = (issue?: Issue) => [issue?.documents, issue?.pages, issue?.left].every(Array.isArray);
  return Object.fromEntries([...Object.entries(issues), ...begun].filter(([, issue]) => isGood(issue)));
}
