/** Answers for the site that is read at this origin: its publication says what there is at an address, and nothing else is shown. */

import type { KeyId } from '../../core/crypto/key-id.ts';
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { SetKeyHandle } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { isSoldHere } from '../../core/publication/offers.ts';
import type { Freshness, PastPublication } from '../../core/publication/site-publication.ts';
import { accentOf } from '../../core/site/accent.ts';
import { GIVEN, READING_SITE_PAGES, SUBSCRIBE_PAGE, urlPathOf } from '../../core/site/path.ts';
import { answer, type FoundDocument } from '../../reading/answer.ts';
import { CONFIRMED_HEADER, confirmedAt } from '../../reading/confirmation.ts';
import { noticePage, type RefusalLook } from '../../reading/refusal-page.ts';
import { WebReaderError } from '../errors.ts';
import { macOf, type OriginStore, openStore, STATE, type StoredKey } from '../store.ts';
import { answerDocument } from './answer.ts';
import { endFrame, takeArrival } from './arrival.ts';
import type { CreateMissingKeys, MissingKeys } from './missing-keys.ts';
import { isOpened } from './opened.ts';
import { withScripts } from './page-scripts.ts';
import { pageFor, refusalFor } from './pages.ts';
import { BrowserPublication, nowInSeconds } from './publication.ts';
import { scope } from './scope.ts';
import { type ReadSite, StoredSite } from './site.ts';

/** Milliseconds between two notices. */
const NOTICE_INTERVAL = 43_200_000;

/** Parts of the worker's own pages. */
export interface Session {
  readonly store: OriginStore;
  readonly site: ReadSite;
  readonly publication: BrowserPublication;
}

interface Parts {
  readonly store: OriginStore;
  readonly known: StoredSite;
  readonly missingKeys: MissingKeys;
  readonly publication: BrowserPublication;
}

interface Visit extends Session {
  readonly request: Request;
  /** Asks for the key of a set. @returns what to answer meanwhile; `undefined` where it arrived, or will not */
  readonly askForKey: (set: KeyId) => Promise<Response | undefined>;
  readonly freshness: Freshness;
  /** The publication as it was, where that is shown: only what is kept here. */
  readonly past: (PastPublication & { readonly reason: unknown }) | undefined;
}

/** Reasons why there is no key that a reader can do something about. */
const REASONS = ['lapsed', 'not-entitled', 'revoked'] as const;

const NO_PARTS = { publication: undefined };

export class WebReader {
  readonly #createKeys: CreateMissingKeys;
  #parts: Promise<Parts> | undefined;

  constructor(createKeys: CreateMissingKeys) {
    this.#createKeys = createKeys;
  }

  /** Fetches what every first page needs, while the browser is still installing the worker. What fails is tried again when it is needed. */
  async begin(): Promise<void> {
    const { known, publication } = await this.#open();
    await Promise.all([known.read(), publication.current().finally(() => publication.publisher())]);
  }

  /** The answer to a GET or HEAD for anything of this origin: a document of the publication, or why it is not shown. */
  answer(request: Request, clientId: string): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const target = pathname + search;
    return this.#orRefusal(request, target, () => this.#answer(request, target, clientId));
  }

  /** The answer to the vault's form, which brings keys, or to a frame that is led here without any. */
  arrive(request: Request): Promise<Response> {
    return this.#orRefusal(request, '/', async () => {
      const { store, missingKeys } = await this.#open();
      const isAnswered = request.method === 'POST';
      const answer = await (isAnswered ? takeArrival(store, request) : endFrame());
      missingKeys.end(isAnswered);
      return answer;
    });
  }

  /**
   * Makes the address at which the vault hands over keys, in silence.
   *
   * @param target - of the document that they are for; empty: all that the reader may have
   * @returns empty where the document needs none, or nothing is known of it
   */
  async addressOfKeys(target: string): Promise<string> {
    const { store, missingKeys, publication } = await this.#open();
    if (target === '') return missingKeys.forFrame([]);
    const found = await publication.current().then(
      () => publication.publication.resolve(target, nowInSeconds()),
      () => undefined,
    );
    const set = found?.kind === 'document' ? found.entry.set : undefined;
    if (set === undefined || isUsable(await store.keys.find(set), nowInSeconds())) return '';
    return missingKeys.forFrame([set]);
  }

  /** @throws WebReaderError `site-unavailable`, `site-changed` */
  async session(): Promise<Session> {
    const { store, known, publication } = await this.#open();
    return { store, site: await known.read(), publication };
  }

  /** Makes the head of the worker's own pages of what is at hand, for they have to open without a network. */
  async masthead(): Promise<RefusalLook> {
    const { publication } = this.#parts ? await this.#parts.catch(() => NO_PARTS) : NO_PARTS;
    const { name } = (await publication?.publisher(true).catch(() => undefined)) ?? { name: scope.wisprSite.site };
    const { accent, logo, plans = [], subscribe } = publication?.publication.settings ?? {};
    return {
      name,
      accent: accentOf(accent),
      logo: logo && urlPathOf(logo),
      subscribe: isSoldHere(plans) ? scope.wisprSite.reading + SUBSCRIBE_PAGE : subscribe,
    };
  }

  /** A document as a page gets it. @throws what keeps it from being shown */
  async read(session: Session, found: Pick<FoundDocument, 'entry' | 'path'>): Promise<Response> {
    const freshness = await session.publication.current();
    const request = new Request(urlPathOf(found.path));
    const askForKey = async () => undefined;
    return show({ ...session, request, askForKey, freshness, past: undefined }, { ...found, status: 200 });
  }

  async #answer(request: Request, target: string, clientId: string): Promise<Response> {
    const { store, known, missingKeys, publication } = await this.#open();
    const [site, { freshness, past }] = await Promise.all([known.read(), judge(publication, request)]);
    const askForKey = async (set: KeyId) => {
      const given = await askServer(request, clientId);
      if (given) return given;
      if (!isOpened(request)) return void (await missingKeys.forPage(set, clientId));
      const address = await missingKeys.forWindow(set, target + new URL(request.url).hash);
      return address === undefined ? undefined : redirect(303, address, 'no-store');
    };
    const visit = { store, site, publication, request, askForKey, freshness, past };
    const opener = isOpened(request) ? 'window' : 'page';
    const asked = { method: request.method, target, opener, isFromHere: isFromHere(request) } as const;
    const read = {
      site: site.site,
      publication,
      freshness,
      past,
      now: nowInSeconds,
      isNoticeDue: () => isNoticeDue(store),
    };
    return answer<Response>(asked, read, {
      document: async (found) => withScripts(await show(visit, found), request, publication.publication.settings),
      redirect: (status, location) => redirect(status, location, 'private, no-cache'),
      notice: async (notice) => {
        const look = await this.masthead();
        const page = noticePage(notice, freshness, { name: look.name, target, now: nowInSeconds() });
        const headers = { 'wispr-notice': notice, [CONFIRMED_HEADER]: confirmedAt(freshness) };
        return pageFor(page, look, headers);
      },
    });
  }

  async #orRefusal(request: Request, target: string, make: () => Promise<Response>): Promise<Response> {
    try {
      return await make();
    } catch (error) {
      const known = error instanceof CodedError ? error : unforeseen(error);
      return refusalFor(known, request, target, await this.masthead());
    }
  }

  #open(): Promise<Parts> {
    this.#parts ??= openStore().then(
      (store) => {
        const known = new StoredSite(store);
        const hosts = async () => (await known.read()).content;
        const publication = new BrowserPublication(store, hosts);
        return { store, known, missingKeys: this.#createKeys(store), publication };
      },
      (error: unknown) => {
        this.#parts = undefined;
        throw error;
      },
    );
    return this.#parts;
  }
}

/** Decides by which publication to read: as it is; where none may be shown, as it was, if its publisher permits that. */
async function judge(publication: BrowserPublication, { cache }: Request): Promise<Pick<Visit, 'freshness' | 'past'>> {
  try {
    return { freshness: await publication.current(cache === 'reload' || cache === 'no-cache'), past: undefined };
  } catch (error) {
    const past = await publication.past();
    if (past === undefined) throw error;
    return { freshness: past.freshness, past: { ...past, reason: error } };
  }
}

async function show(visit: Visit, { path, entry, status }: FoundDocument): Promise<Response> {
  const { request, askForKey, publication, store, freshness, past } = visit;
  const { set } = entry;
  const now = past?.time ?? nowInSeconds();
  if (set !== undefined) {
    let key = await store.keys.find(set);
    if (!past && !isUsable(key, now)) {
      const asking = await askForKey(set);
      if (asking) return asking;
      key = await store.keys.find(set);
      if (!isUsable(key, now)) await sayWhy(store, set);
    }
    if (!key) throw new ObjectError('key-missing', 'there is no key for the set of this document');
  }
  const { key: publisherKey } = await publication.publisher();
  const context = { now, findKey: (id: string) => findKey(store, id) };
  return answerDocument({
    request,
    site: past ? { ...visit.site, content: [] } : visit.site,
    publisherKey,
    path,
    entry,
    status,
    confirmed: confirmedAt(freshness),
    context,
  });
}

/** A page that was given to this browser, or what such a page loads, as the server opens it; `undefined` for everything else. */
async function askServer(request: Request, clientId: string): Promise<Response | undefined> {
  const page = isOpened(request) ? request.url : (await scope.clients.get(clientId))?.url;
  // An answering server is a content host like any other where there is no key server.
  if (!scope.wisprSite.reading || page === undefined || new URL(page).search !== GIVEN) return undefined;
  const { method, headers } = request;
  // A request of this worker's own: the other may be that of a page elsewhere.
  const answer = await fetch(request.url, { method, headers, redirect: 'error' }).catch(() => undefined);
  return answer?.ok ? answer : undefined;
}

function isUsable(key: StoredKey | undefined, now: number): boolean {
  return key !== undefined && key.notBefore <= now && now <= key.notAfter;
}

/** A key as a handle: its bytes do not come out. It was compared with its id where it arrived; another key opens nothing of this set. */
async function findKey(store: OriginStore, id: string): Promise<SetKeyHandle | undefined> {
  const found = await store.keys.find(id);
  if (found === undefined) return undefined;
  const { key, notBefore, notAfter } = found;
  return { id: found.id, notBefore, notAfter, handle: macOf(key) };
}

/** Scripts of pages can write what is read here: it chooses words, and nothing else. @throws WebReaderError the reason why the vault gave no key */
async function sayWhy(store: OriginStore, set: KeyId): Promise<void> {
  const asked = await store.asked.find(set);
  const reason = REASONS.find((each) => each === asked?.reason);
  if (reason !== undefined) throw new WebReaderError(reason, 'the key of this document was refused');
}

async function isNoticeDue(store: OriginStore): Promise<boolean> {
  const since = Date.now() - Number((await store.state.get(STATE.noticed)) ?? 0);
  if (since >= 0 && since < NOTICE_INTERVAL) return false;
  await store.state.put(STATE.noticed, Date.now());
  return true;
}

function redirect(status: number, location: string, cacheControl: string): Response {
  return new Response(null, { status, headers: { location, 'cache-control': cacheControl } });
}

/** Tells whether a page of this site loads it or leads there: the notice in front of it, above all. */
function isFromHere(request: Request): boolean {
  if (!isOpened(request)) return true;
  const { referrer } = request;
  const { origin } = scope.location;
  return referrer.startsWith(`${origin}/`) && !referrer.startsWith(`${origin}${READING_SITE_PAGES}/`);
}

/** A fault of this program. */
function unforeseen(error: unknown): WebReaderError {
  return new WebReaderError('web-reader-failed', reasonOf(error), { cause: error });
}
