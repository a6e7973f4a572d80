/** Answers for the site that is read here: its publication says what there is at an address. */
import type { Request, Response } from 'express';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { answer } from '../../reading/answer.ts';
import { asksForNewest, CONFIRMED_HEADER, confirmedAt } from '../../reading/confirmation.ts';
import { ReadingError } from '../../reading/errors.ts';
import { openerOf, senderOf } from '../../reading/navigation.ts';
import { KeyServerError } from '../errors.ts';
import { type Provider, siteReadAt } from '../publication/provider.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { type DocumentService, sendDocument } from './documents.ts';
import type { PageFront } from './first-page.ts';
import type { ReadPublications } from './publications.ts';

export interface SiteService extends DocumentService {
  /** Origin of the reading site, as the descriptor names it. */
  readonly account: string;
  readonly publications: ReadPublications;
  /** Says, in front of a page, that the publication has not been confirmed for long. */
  readonly sendNotice: (request: Request, response: Response, freshness: Freshness) => Promise<void>;
}

export interface Visit {
  readonly provider: Provider | undefined;
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
  { provider, ...visit }: Visit,
  request: Request,
  response: Response,
): Promise<void> {
  const site = provider && siteReadAt(provider.descriptor, service.account);
  if (!site) throw new KeyServerError('no-provider', 'no site is read at this origin');
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
    document: (found) => sendDocument(service, { provider, site, ...visit, ...found }, request, response),
    redirect: (status, location) => {
      response.set({ 'Cache-Control': 'private, no-cache', Location: location });
      response.status(status).end();
    },
    notice: () => service.sendNotice(request, response, freshness),
    hasBegun: () => response.headersSent,
  });
}
