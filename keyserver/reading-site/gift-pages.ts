/** Giving a page away, and opening one that was given, at the account's origin: docs/spec/web-reader.md, "Gifts". */
import type { Express, Request, Response } from 'express';
import type { Gifts } from '../../core/publication/offers.ts';
import { ACCOUNT_PAGE, GIFT_PAGE, GIVE_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { headlineOf } from '../../teaser/render.ts';
import { GIFTS } from '../../words/en/gifts.ts';
import { noStore } from '../http/app.ts';
import { field, queryOf } from '../http/forms.ts';
import { addressOf } from '../http/limits.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { findKeyForReading } from '../readers/entitlement.ts';
import { createGift, giftsLeft, withdrawGift } from '../readers/gifts.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { sendSignIn } from './account-pages.ts';
import { type AccountPages, ownForm, subscriberOf } from './account-session.ts';
import type { SiteDocument } from './documents.ts';
import { isGivable } from './given-page.ts';
import { documentLimit, openedOnly, sendPage, sendRefusal } from './own-pages.ts';
import type { ReadPublications } from './publications.ts';
import { refusalFor } from './refusals.ts';
import type { Teasers } from './teasers.ts';

export interface GiftPages extends AccountPages {
  readonly provider: ProviderReader;
  readonly publications: ReadPublications;
  readonly teasers: Teasers;
}

/** Adds the routes. */
export function addGiftPages(app: Express, pages: GiftPages): void {
  const { state, limits, origin, documents } = pages;
  const limit = documentLimit(limits);
  app.get(GIVE_PAGE, noStore, openedOnly, limit, (request, response) =>
    give(pages, request, response, pathIn(queryOf(request, 'to'), origin)),
  );
  app.post(GIVE_PAGE, ...ownForm(pages), limit, (request, response) =>
    give(pages, request, response, pathIn(field(request, 'to'), origin)),
  );
  app.post('/-/take-back', ...ownForm(pages), async (request, response) => {
    const [subscriber, gift] = [await subscriberOf(pages, request), Number(field(request, 'gift'))];
    if (subscriber && Number.isSafeInteger(gift)) await withdrawGift(state, subscriber, gift);
    response.redirect(303, ACCOUNT_PAGE);
  });
  app.get(GIFT_PAGE, noStore, openedOnly, limit, async (request, response) => {
    // The form that takes the secret to the documents' origin has to say where it comes from.
    response.set('Referrer-Policy', 'strict-origin');
    const to = pathIn(queryOf(request, 'to'), origin);
    const found = await documentAt(pages, to).catch(() => undefined);
    const page = await headOf(pages, found, request);
    await sendPage(pages, response, 'gift', { to, page, action: documents + GIFT_PAGE });
  });
}

/** URL path of a document, without query and fragment. */
function pathIn(text: string, origin: string): string {
  return new URL(documentTarget(text, origin), origin).pathname;
}

/** Shows what a gift of a page would be, or, sent as a form, makes it. */
async function give(pages: GiftPages, request: Request, response: Response, to: string): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  if (!subscriber)
    return sendSignIn(pages, response.status(401), { to: `${GIVE_PAGE}?${new URLSearchParams({ to })}` });
  const found = await documentAt(pages, to);
  const offer = found && (await offerFor(pages, subscriber, found));
  if (!offer) return sendRefusal(pages, request, response, refusalFor('not-found'));
  const { terms, problem } = offer;
  const made = request.method === 'POST' && !problem ? await createGift(pages.state, subscriber, to, terms) : undefined;
  const left = await giftsLeft(pages.state, subscriber, terms);
  const why = problem ?? (made || left > 0 ? undefined : 'month');
  const { openings, expires } = made ?? { ...terms, expires: pages.state.now() + terms.days * 86_400 };
  await sendPage(pages, why ? response.status(403) : response, 'give', {
    to,
    page: await headOf(pages, found, request),
    address: decodeURI(to),
    terms: GIFTS.terms(openings, expires),
    left,
    problem: why && GIFTS.problems[why],
    link: made && linkOf(pages.origin, to, made.secret),
  });
}

/** The secret stands behind "#": it is in no request, and in no log. */
function linkOf(origin: string, to: string, secret: string): string {
  return `${origin}${GIFT_PAGE}?to=${to.replace(/[%&+]/g, encodeURIComponent)}#${secret}`;
}

/** @throws PublicationError where no publication may be used */
async function documentAt(
  { provider, publications, origin }: GiftPages,
  to: string,
): Promise<SiteDocument | undefined> {
  const here = await provider.siteAt(origin);
  return here && publications.documentAt(here, to);
}

/** Finds what everybody may see of a page; `undefined` where there is nothing, or it cannot be had now. */
async function headOf({ teasers, documents }: GiftPages, found: SiteDocument | undefined, request: Request) {
  if (!found?.entry.set) return undefined;
  const page = await teasers.of(found, addressOf(request)).catch(() => undefined);
  if (!page) return undefined;
  const { description, language, picture } = page;
  return { headline: headlineOf(page), description, language, picture: picture && documents + picture };
}

interface Offer {
  readonly terms: Gifts;
  readonly problem: 'page' | 'right' | undefined;
}

/** @returns `undefined` where nothing is given away */
async function offerFor(pages: GiftPages, subscriber: Subscriber, found: SiteDocument): Promise<Offer | undefined> {
  const { provider, site, entry } = found;
  const { gifts: terms } = pages.publications.settingsOf(provider, site);
  if (terms === undefined) return undefined;
  if (entry.set === undefined || !isGivable(found)) return { terms, problem: 'page' };
  const key = await findKeyForReading(pages.state, subscriber, site.site, entry.set);
  return { terms, problem: key === undefined || typeof key === 'string' ? 'right' : undefined };
}
