/** Answers for the site that is read here: its publication says what there is at an address. */
import type { Request, Response } from 'express';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import type { Resolution } from '../../core/publication/resolve.ts';
import type { Freshness, SitePublication } from '../../core/publication/site-publication.ts';
import { asksForNewest, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { ReadingError } from '../../core/reading/errors.ts';
import { localRedirect } from '../../core/reading/local-redirect.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { KeyServerError } from '../errors.ts';
import { type Provider, siteReadAt } from '../publication/provider.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { type DocumentService, sendDocument } from './documents.ts';
import type { ReadPublications } from './publications.ts';
import { isOpened } from './targets.ts';

export interface SiteService extends DocumentService {
  /** Origin of the reading site, as the descriptor names it. */
  readonly account: string;
  readonly publications: ReadPublications;
  /** Says, in front of a page, that the publication has not been confirmed for long. */
  readonly sendNotice: (request: Request, response: Response, freshness: Freshness) => Promise<void>;
}

/** Who asks. */
export interface Visit {
  readonly provider: Provider | undefined;
  /** `undefined` where no subscriber is signed in. */
  readonly subscriber: Subscriber | undefined;
}

interface Visited extends Visit {
  readonly provider: Provider;
  readonly site: SiteDescription;
  readonly publication: SitePublication;
}

/**
 * Answers a GET or HEAD.
 *
 * @throws ReadingError, PublicationError, ObjectError, KeyServerError `no-provider` and those of documents.ts; nothing was sent then
 */
export async function answerForSite(
  service: SiteService,
  { provider, subscriber }: Visit,
  request: Request,
  response: Response,
): Promise<void> {
  const site = provider && siteReadAt(provider.descriptor, service.account);
  if (!site) throw new KeyServerError('no-provider', 'no site is read at this origin');
  if (documentPathOf(request.originalUrl) === undefined) throw pathRefused();
  const keeper = service.publications.of(provider, site);
  const freshness = await keeper.current(asksForNewest(request.headers));
  response.set(CONFIRMED_HEADER, confirmedAt(freshness));
  if (freshness.stale && isEntering(request)) return service.sendNotice(request, response, freshness);
  const look = () => keeper.publication.resolve(request.originalUrl, service.state.now());
  let resolution = await look();
  // The link may lead to a page that was published this minute.
  if (resolution.kind === 'missing' && isOpened(request) && (await keeper.hasMovedOn())) resolution = await look();
  const visited = { provider, subscriber, site, publication: keeper.publication };
  return answer(service, visited, resolution, request, response);
}

async function answer(
  service: SiteService,
  visited: Visited,
  resolution: Resolution,
  request: Request,
  response: Response,
): Promise<void> {
  const { publication, site } = visited;
  switch (resolution.kind) {
    case 'document':
      return sendDocument(service, { ...visited, ...resolution, status: 200 }, request, response);
    case 'redirect':
      response.set({ 'Cache-Control': 'private, no-cache', Location: localRedirect(resolution.location, site.site) });
      return void response.status(resolution.status).end();
    case 'missing': {
      const found = await notFoundDocument(publication, service.state.now());
      if (found) return sendDocument(service, { ...visited, ...found, status: 404 }, request, response);
      throw new ReadingError('no-such-document', 'the publisher signed that there is no such document');
    }
    case 'refused':
      throw pathRefused();
  }
}

/** The publisher's own page for what does not exist, if it is public. */
async function notFoundDocument(
  publication: SitePublication,
  now: number,
): Promise<{ path: string; entry: DocumentEntry } | undefined> {
  const path = publication.settings.notFound;
  const entry = path === undefined ? undefined : await publication.document(path, now);
  return path !== undefined && entry && entry.set === undefined ? { path, entry } : undefined;
}

/** Whether a request comes from outside the site, for a page in a window of its own. Going on from the notice counts as inside. */
function isEntering({ method, headers }: Request): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  return method === 'GET' && mode === 'navigate' && destination === 'document' && site !== 'same-origin';
}

function pathRefused(): ReadingError {
  return new ReadingError('path-refused', 'the path is not one that a document can have');
}
