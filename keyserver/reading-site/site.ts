/** Answers for the site that is read here: its publication says what there is at an address. */
import type { Request, Response } from 'express';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { documentPathOf, GIVEN } from '../../core/site/path.ts';
import { answer } from '../../reading/answer.ts';
import { asksForNewest, CONFIRMED_HEADER, confirmedAt } from '../../reading/confirmation.ts';
import { ReadingError } from '../../reading/errors.ts';
import { openerOf, senderOf } from '../../reading/navigation.ts';
import { KeyServerError } from '../errors.ts';
import { addressOf } from '../http/limits.ts';
import type { SiteHere } from '../publication/provider.ts';
import { denialOf } from '../readers/entitlement.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { type DocumentRequest, type DocumentService, sendDocument } from './documents.ts';
import type { PageFront } from './first-page.ts';
import { giftNote } from './given-page.ts';
import { barFor, sendTeaser, type TeaserPages } from './teaser-page.ts';

/** Services of the documents' origin. */
export interface SiteService extends DocumentService, Omit<TeaserPages, 'signUp'> {
  /** Says, in front of a page, that the publication has not been confirmed for long. */
  readonly sendNotice: (request: Request, response: Response, freshness: Freshness) => Promise<void>;
}

export interface Visit extends SiteHere {
  /** `undefined` where no subscriber is signed in. */
  readonly subscriber: Subscriber | undefined;
  /** Finds those who have given this browser the document with a path. */
  readonly giversOf: (path: string) => Promise<readonly Subscriber[]>;
  readonly front: PageFront | undefined;
}

/**
 * Answers a GET or HEAD.
 *
 * @throws ReadingError, PublicationError, ObjectError, KeyServerError `no-provider` and those of documents.ts; nothing was sent then
 */
export async function answerForSite(
  service: SiteService,
  { provider, site, ...visit }: Visit,
  request: Request,
  response: Response,
): Promise<void> {
  if (documentPathOf(request.originalUrl) === undefined)
    throw new ReadingError('path-refused', 'the path is not one that a document can have');
  const keeper = service.publications.of(provider, site);
  const freshness = await keeper.current(asksForNewest(request.headers));
  response.set(CONFIRMED_HEADER, confirmedAt(freshness));
  const { method, originalUrl: target, headers } = request;
  const { now } = service.state;
  // Going on from the notice comes from here; a browser that does not say so would get it again and again.
  const isNoticeDue = () => senderOf(headers) !== undefined && senderOf(headers) !== 'here';
  const read = { site: site.site, publication: keeper, freshness, past: undefined, now, isNoticeDue };
  await answer<void>({ method, target, opener: openerOf(headers), isFromHere: false }, read, {
    document: (found) => sendFound(service, { provider, site, ...visit, ...found }, request, response),
    redirect: (status, location) => {
      response.set({ 'Cache-Control': 'private, no-cache', Location: location });
      response.status(status).end();
    },
    notice: () => service.sendNotice(request, response, freshness),
    hasBegun: () => response.headersSent,
  });
}

/** Sends a document, or, to a program that may not have it, its teaser. */
async function sendFound(
  service: SiteService,
  found: DocumentRequest,
  request: Request,
  response: Response,
): Promise<void> {
  const { site, subscriber, entry } = found;
  const isProgram = openerOf(request.headers) === 'program';
  const tease = async () => {
    const denied = entry.set && (await denialOf(service.state, subscriber, site.site, entry.set));
    const to = request.originalUrl;
    return denied ? sendTeaser(service, { ...found, denied, to }, request, response) : false;
  };
  const hasRight = subscriber !== undefined || (isProgram && (await found.giversOf(found.path)).length > 0);
  if (isProgram && !hasRight && (await tease())) return;
  try {
    const front = found.front ?? (await noteOfGift(service, found, request));
    await sendDocument(service, { ...found, front }, request, response);
  } catch (error) {
    const isDenied = isProgram && error instanceof KeyServerError && !response.headersSent;
    if (!isDenied || !(await tease())) throw error;
  }
}

/** Finds what is added to a page that was given, for whoever may read it as a gift alone. */
async function noteOfGift(
  service: SiteService,
  found: DocumentRequest,
  request: Request,
): Promise<PageFront | undefined> {
  const { site, provider, subscriber, entry, path } = found;
  const to = new URL(request.originalUrl, service.documents);
  if (to.search !== GIVEN || !entry.set || (await found.giversOf(path)).length === 0) return undefined;
  const denied = await denialOf(service.state, subscriber, site.site, entry.set);
  const page = denied && (await service.teasers.of(found, addressOf(request)).catch(() => undefined));
  if (!denied || !page) return undefined;
  const settings = service.publications.settingsOf(provider, site);
  const bar = await barFor(service, { ...found, denied, to: to.pathname }, page, settings);
  return giftNote(provider.descriptor.name, page.language, bar);
}
