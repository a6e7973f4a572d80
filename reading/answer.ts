/**
 * Decides what a request for a site is answered with: its publication decides what there is at the address. Statuses, headers and redirects of content
 * hosts do not count. The same for every adapter; what reading and sending take is the adapter's.
 */
import { CodedError } from '../core/errors.ts';
import type { DocumentEntry } from '../core/publication/document-entry.ts';
import type { Resolution } from '../core/publication/resolve.ts';
import type { Freshness, PastPublication, SitePublication } from '../core/publication/site-publication.ts';
import { ReadingError } from './errors.ts';
import { localRedirect } from './local-redirect.ts';
import { MissingSoFar } from './missing-so-far.ts';
import type { Opener } from './navigation.ts';

export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  readonly opener: Opener;
  /** Tells whether a page of this site leads there, or loads it. */
  readonly isFromHere: boolean;
}

/** The publication in use, and how to look for a newer one. */
export interface ReadPublication {
  readonly publication: SitePublication;
  /** Looks for a newer one; at most once in a while. @returns whether there is one, which is in use then */
  readonly hasMovedOn: () => Promise<boolean>;
  /** Error of the last look; `undefined` where it found what is newest. */
  readonly failure?: unknown;
  readonly isSlow?: boolean;
}

export interface AnsweringSite {
  readonly site: string;
  readonly publication: ReadPublication;
  readonly freshness: Freshness;
  /** The publication as it was, where none may be shown as it is; and why not. */
  readonly past: (PastPublication & { readonly reason: unknown }) | undefined;
  /** Seconds since 1970. */
  readonly now: () => number;
  /** Tells whether it is time to say that the publication has not been confirmed for long; if it is, it is said. */
  readonly isNoticeDue: () => boolean | Promise<boolean>;
}

export interface FoundDocument {
  readonly path: string;
  readonly entry: DocumentEntry;
  /** 404: it stands for one that does not exist. */
  readonly status: 200 | 404;
}

export interface AnswerSender<Sent> {
  readonly document: (found: FoundDocument) => Promise<Sent>;
  readonly redirect: (status: 301 | 302 | 307 | 308, location: string) => Sent | Promise<Sent>;
  readonly notice: (notice: 'past' | 'stale') => Sent | Promise<Sent>;
  /** Tells whether something was sent already, so that nothing else can be. */
  readonly hasBegun?: () => boolean;
}

/**
 * Answers a GET or HEAD.
 *
 * @throws ReadingError `path-refused`, `no-such-document`, `content-host-unreachable`; `past.reason`; what looking and sending throw
 */
export async function answer<Sent>(
  request: ReadRequest,
  site: AnsweringSite,
  sending: AnswerSender<Sent>,
): Promise<Sent> {
  const { past, freshness, publication } = site;
  const isOpened = request.method === 'GET' && request.opener === 'window';
  if (past && !request.isFromHere) {
    if (!isOpened) throw past.reason;
    return sending.notice('past');
  }
  if (!past && freshness.stale && isOpened && (await site.isNoticeDue())) return sending.notice('stale');
  try {
    return await answerResolved(request, isOpened, site, sending);
  } catch (error) {
    const isLost = past || sending.hasBegun?.() || !mayBeOutdated(error);
    if (isLost || !(await publication.hasMovedOn())) throw error;
    return answerResolved(request, isOpened, site, sending);
  }
}

async function answerResolved<Sent>(
  { target }: ReadRequest,
  isOpened: boolean,
  site: AnsweringSite,
  sending: AnswerSender<Sent>,
): Promise<Sent> {
  const { past, publication: keeper, now } = site;
  const look = (): Promise<Resolution> =>
    (past?.publication ?? keeper.publication).resolve(target, past?.time ?? now());
  let resolution = await look();
  // The link may lead to a page that was published this minute.
  if (!past && resolution.kind === 'missing' && isOpened && (await keeper.hasMovedOn())) resolution = await look();
  switch (resolution.kind) {
    case 'document':
      return sending.document({ path: resolution.path, entry: resolution.entry, status: 200 });
    case 'redirect':
      return sending.redirect(resolution.status, localRedirect(resolution.location, site.site));
    case 'missing': {
      const found = past ? undefined : await notFoundDocument(keeper.publication, now());
      if (found) return sending.document(found);
      throw missing(site);
    }
    case 'refused':
      throw new ReadingError('path-refused', 'the address has a spelling that no document has');
  }
}

/** The publisher's own page for what does not exist, if it is public. */
async function notFoundDocument(publication: SitePublication, now: number): Promise<FoundDocument | undefined> {
  const path = publication.settings.notFound;
  const entry = path === undefined ? undefined : await publication.document(path, now);
  return path !== undefined && entry && entry.set === undefined ? { path, entry, status: 404 } : undefined;
}

function missing({ publication: { failure, isSlow = false, publication }, freshness, now, past }: AnsweringSite) {
  if (past)
    return new ReadingError('content-host-unreachable', 'there was no such document, and nothing newer is known');
  if (failure === undefined && !isSlow)
    return new ReadingError('no-such-document', 'the publisher signed that there is no such document');
  const { version = freshness.version } = publication.state?.snapshot ?? {};
  return new MissingSoFar({ version, confirmed: freshness.confirmed, now: now() }, failure);
}

/** Tells whether a newer publication could help: files of the current one were removed or replaced. */
function mayBeOutdated(error: unknown): boolean {
  return error instanceof CodedError && (error.code === 'head-unexpected' || error.code === 'object-missing');
}
