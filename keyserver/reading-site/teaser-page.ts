/** The teaser of a protected page in place of the page: for whoever may not read it at the account's origin, and for programs at the documents'. Nothing runs in it. */
import type { Request, Response } from 'express';
import { type OfferedPlan, planToTry } from '../../core/publication/offers.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { fileOf } from '../../node-support/web-reader-files.ts';
import { answer, type FoundDocument } from '../../reading/answer.ts';
import { asksForNewest } from '../../reading/confirmation.ts';
import { openerOf } from '../../reading/navigation.ts';
import { type Bar, barOf, offersFor } from '../../teaser/bar.ts';
import { type FallbackPage, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage } from '../../teaser/page.ts';
import { renderTeaser } from '../../teaser/render.ts';
import { teaserStyle } from '../../teaser/style.ts';
import { FOR_SUBSCRIBERS } from '../../words/en/not-included.ts';
import { addressOf } from '../http/limits.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { type DeniedSet, denialOf } from '../readers/entitlement.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import type { SiteDocument } from './documents.ts';
import type { ReadPublications } from './publications.ts';
import { barForReader, plansThatOpen } from './teaser-bar.ts';
import { aboutSite, type Teasers } from './teasers.ts';

export interface TeaserPages {
  readonly state: KeyServerState;
  readonly publications: ReadPublications;
  readonly teasers: Teasers;
  /** Origins. */
  readonly account: string;
  readonly documents: string;
  /** Tells whether people sign up by mail; left out at the documents' origin, where no page has a field. */
  readonly signUp?: boolean;
}

/** A document that somebody may not read. */
export interface DeniedDocument extends SiteDocument {
  readonly denied: DeniedSet;
  /** Path and query that were asked for. */
  readonly to: string;
}

/** Values of a document that is no page. */
const NOTHING = { ...readPage(new Uint8Array()).teaser, title: FOR_SUBSCRIBERS };

/**
 * Answers with the teaser of a document.
 *
 * @returns `false`, and nothing was sent, where it is no page and no window asks for it
 * @throws as `Teasers.of`
 */
export async function sendTeaser(
  pages: TeaserPages,
  document: DeniedDocument,
  request: Request,
  response: Response,
): Promise<boolean> {
  const { provider, site, path, denied } = document;
  const known = await pages.teasers.of(document, addressOf(request));
  if (!known && openerOf(request.headers) === 'program') return false;
  const settings = pages.publications.settingsOf(provider, site);
  const page = known ?? fallbackPageOf(path, NOTHING, { ...settings, logo: undefined, ...aboutSite(document) });
  const bar = await barFor(pages, document, page, settings);
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policyFor(page, pages),
    'Referrer-Policy': 'strict-origin', // pictures are given to pages of the account's origin
    'Wispr-Refusal': denied.code,
  });
  response.type('html').send(renderTeaser(inPlace(page, pages.documents), bar, { script: false }));
  return true;
}

/** Files of the publication are at the documents' origin alone. */
function inPlace(page: FallbackPage, documents: string): FallbackPage {
  const at = (path: string) => path && documents + path;
  return { ...page, logo: at(page.logo), picture: at(page.picture) };
}

function policyFor({ accent }: FallbackPage, { documents, signUp }: TeaserPages): string {
  return [
    "default-src 'none'",
    `style-src '${fileOf(Buffer.from(teaserStyle(accent))).integrity}'`,
    `img-src data: ${documents}`,
    `form-action ${signUp === undefined ? "'none'" : "'self'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Makes the bar of the teaser of a document. */
export async function barFor(
  { state, account, signUp }: TeaserPages,
  { denied, to }: DeniedDocument,
  { language }: FallbackPage,
  settings: SiteSettings,
): Promise<Bar> {
  const page = { language, reading: account + to };
  if (denied.code !== 'not-signed-in') return barForReader({ state, settings, page }, denied);
  const { plans = [] } = settings;
  const offered = await plansThatOpen(state, plans, denied.name);
  const tried = planToTry(plans);
  const mayTry = signUp && (tried === undefined || offered.includes(tried));
  const offers = { ...settings, plans: offered, subscribe: offersFor(page.reading, settings) };
  return barOf(page, offers, mayTry === undefined ? undefined : { signUp: mayTry });
}

export interface AccountTeasers extends TeaserPages {
  readonly provider: ProviderReader;
  readonly subscriberOf: (request: Request) => Promise<Subscriber | undefined>;
}

/** Finds the headline of the page at an address, where its teaser was shown. @param to - path and query */
export async function headlineAt(pages: AccountTeasers, to: string): Promise<string | undefined> {
  const found = await documentAt(pages, to, true);
  return found && pages.teasers.headlineOf(found.entry);
}

/** Finds those of the plans that open the page at an address. @param to - path and query */
export async function plansAt(
  pages: AccountTeasers,
  to: string,
  plans: readonly OfferedPlan[],
): Promise<readonly OfferedPlan[]> {
  const found = await documentAt(pages, to, false);
  if (!found?.entry.set) return [];
  const denied = await denialOf(pages.state, undefined, found.site.site, found.entry.set);
  return denied ? plansThatOpen(pages.state, plans, denied.name) : [];
}

/** @returns `undefined` also where no publication may be used */
async function documentAt({ provider, publications, account }: AccountTeasers, to: string, isAtHand: boolean) {
  const here = await provider.siteAt(account);
  return here && publications.documentAt(here, to, isAtHand).catch(() => undefined);
}

/**
 * Answers at the account's origin with the teaser of what is at an address, for whoever may not read it.
 *
 * @param to - path and query
 * @returns `false`, and nothing was sent, where the documents' origin has the answer
 * @throws what keeps the teaser from being shown
 */
export async function teaseAtAccount(
  pages: AccountTeasers,
  request: Request,
  response: Response,
  to: string,
): Promise<boolean> {
  const { state, publications, account } = pages;
  const here = await pages.provider.siteAt(account);
  if (!here) return false;
  const { provider, site } = here;
  const { headers, method } = request;
  const publication = publications.of(provider, site);
  let isDenied = false;
  const document = async ({ path, entry }: FoundDocument) => {
    if (entry.set === undefined) return false;
    const denied = await denialOf(state, await pages.subscriberOf(request), site.site, entry.set);
    isDenied = denied !== undefined;
    return denied ? sendTeaser(pages, { provider, site, path, entry, denied, to }, request, response) : false;
  };
  const elsewhere = () => false;
  try {
    const freshness = await publication.current(asksForNewest(headers));
    const read = { site: site.site, publication, freshness, past: undefined, now: state.now, isNoticeDue: elsewhere };
    const asked = { method, target: to, opener: openerOf(headers), isFromHere: false };
    return await answer<boolean>(asked, read, { document, redirect: elsewhere, notice: elsewhere });
  } catch (error) {
    if (isDenied) throw error;
    return false;
  }
}
