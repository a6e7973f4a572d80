/** Answers for the site that is read at this origin: its publication says what there is at an address, and nothing else is shown. */
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { HeldSetKey } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import type { Resolution } from '../../core/publication/resolve.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { confirmedAt } from '../../core/reading/confirmation.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import { localRedirect } from '../../core/reading/local-redirect.ts';
import { WebReaderError } from '../errors.ts';
import { openStore, STATE, type Store } from '../store.ts';
import { answerDocument } from './answer.ts';
import { noticeFor, refusalFor } from './pages.ts';
import { nowInSeconds, ReadPublication } from './publication.ts';
import { scope } from './scope.ts';
import { KnownSite, type ReadSite } from './site.ts';

/** Milliseconds: for which the vault is not asked again for a set, and between two notices. */
const ANSWER_COUNTS_FOR = 30_000;
const NOTICE_INTERVAL = 43_200_000;

interface Parts {
  readonly store: Store;
  readonly known: KnownSite;
  publication: ReadPublication | undefined;
}

interface Visit {
  readonly request: Request;
  /** Path and query; `to` has the fragment too. */
  readonly target: string;
  readonly to: string;
  readonly store: Store;
  readonly site: ReadSite;
  readonly publication: ReadPublication;
  readonly freshness: Freshness;
}

export class WebReader {
  #parts: Promise<Parts> | undefined;

  /** The answer to a GET or HEAD for anything of this origin: a document of the publication, or why it is not shown. */
  async answer(request: Request): Promise<Response> {
    const { pathname, search, hash } = new URL(request.url);
    const target = pathname + search;
    try {
      return await this.#answer(request, target, target + hash);
    } catch (error) {
      return refusalFor(error instanceof CodedError ? error : unforeseen(error), request, target);
    }
  }

  async #answer(request: Request, target: string, to: string): Promise<Response> {
    const parts = await this.#open();
    const { store } = parts;
    const site = await parts.known.read();
    parts.publication ??= new ReadPublication(site, store);
    const { publication } = parts;
    publication.site = site;
    const freshness = await publication.current(request.cache === 'reload' || request.cache === 'no-cache');
    if (freshness.stale && isOpened(request) && (await isNoticeDue(store)))
      return noticeFor(freshness, site.site, target, nowInSeconds());
    const visit = { request, target, to, store, site, publication, freshness };
    try {
      return await resolve(visit);
    } catch (error) {
      if (!mayBeOutdated(error) || !(await publication.hasMovedOn())) throw error;
      return resolve(visit);
    }
  }

  #open(): Promise<Parts> {
    this.#parts ??= openStore().then(
      (store) => ({ store, known: new KnownSite(store), publication: undefined }),
      (error: unknown) => {
        this.#parts = undefined;
        throw error;
      },
    );
    return this.#parts;
  }
}

async function resolve(visit: Visit): Promise<Response> {
  const { publication: keeper, target, request, site } = visit;
  const look = () => keeper.publication.resolve(target, nowInSeconds());
  let resolution: Resolution = await look();
  // The link may lead to a page that was published this minute.
  if (resolution.kind === 'missing' && isOpened(request) && (await keeper.hasMovedOn())) resolution = await look();
  switch (resolution.kind) {
    case 'document':
      return show(visit, resolution, 200);
    case 'redirect':
      return redirect(resolution.status, localRedirect(resolution.location, site.site), 'private, no-cache');
    case 'missing': {
      const found = await notFoundDocument(keeper);
      if (found) return show(visit, found, 404);
      throw new ReadingError('no-such-document', 'the publisher signed that there is no such document');
    }
    case 'refused':
      throw new ReadingError('path-refused', 'the path is not one that a document can have');
  }
}

interface Found {
  readonly path: string;
  readonly entry: DocumentEntry;
}

/** The publisher's own page for what does not exist, if it is public. */
async function notFoundDocument({ publication }: ReadPublication): Promise<Found | undefined> {
  const path = publication.settings.notFound;
  const entry = path === undefined ? undefined : await publication.document(path, nowInSeconds());
  return path !== undefined && entry && entry.set === undefined ? { path, entry } : undefined;
}

async function show(visit: Visit, { path, entry }: Found, status: 200 | 404): Promise<Response> {
  const { request, site, publication, store, freshness } = visit;
  const { set } = entry;
  const now = nowInSeconds();
  if (set !== undefined) {
    const key = await store.keys.find(set);
    const isUsable = key !== undefined && key.notBefore <= now && now <= key.notAfter;
    const asking = !isUsable && isOpened(request) && (await askForKey(visit, set));
    if (asking) return asking;
    if (key === undefined) throw new ObjectError('key-missing', 'there is no key for the set of this document');
  }
  const publisherKey = await publication.publisherKey();
  const context = { now, findKey: (id: string) => findKey(store, id) };
  return answerDocument({
    request,
    site,
    publisherKey,
    path,
    entry,
    status,
    confirmed: confirmedAt(freshness),
    context,
  });
}

/** A key as a handle: its bytes do not come out. It was compared with its id where it arrived; another key opens nothing of this set. */
async function findKey(store: Store, id: string): Promise<HeldSetKey | undefined> {
  const found = await store.keys.find(id);
  if (found === undefined) return undefined;
  const { key, notBefore, notAfter } = found;
  const handle = async (data: Uint8Array) =>
    new Uint8Array(await crypto.subtle.sign('HMAC', key, data as Uint8Array<ArrayBuffer>));
  return { id: found.id, notBefore, notAfter, handle };
}

/** Leads a window to where keys are had. `undefined`: it was answered for this set a moment ago, and not with a key that is good here. */
async function askForKey({ store, to }: Visit, set: string): Promise<Response | undefined> {
  const answered = (await store.state.get(STATE.answered)) as Readonly<Record<string, number>> | undefined;
  const since = Date.now() - (answered?.[set] ?? 0);
  if (since >= 0 && since < ANSWER_COUNTS_FOR) return undefined;
  return redirect(303, `${scope.wisprSite.keys}#${new URLSearchParams({ to, sets: set })}`, 'no-store');
}

async function isNoticeDue(store: Store): Promise<boolean> {
  const since = Date.now() - Number((await store.state.get(STATE.noticed)) ?? 0);
  if (since >= 0 && since < NOTICE_INTERVAL) return false;
  await store.state.put(STATE.noticed, Date.now());
  return true;
}

function redirect(status: number, location: string, cacheControl: string): Response {
  return new Response(null, { status, headers: { location, 'cache-control': cacheControl } });
}

/** Whether a page is opened in a window of its own. */
function isOpened({ method, mode, destination }: Request): boolean {
  return method === 'GET' && mode === 'navigate' && destination === 'document';
}

/** Whether a newer publication could help: files of the current one were removed or replaced. */
function mayBeOutdated(error: unknown): boolean {
  return error instanceof CodedError && (error.code === 'head-unexpected' || error.code === 'object-missing');
}

/** A fault of this program. */
function unforeseen(error: unknown): WebReaderError {
  return new WebReaderError('web-reader-failed', reasonOf(error), { cause: error });
}
