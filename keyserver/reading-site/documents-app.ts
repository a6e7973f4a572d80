/**
 * The origin that shows the documents of the site, each at its own path. It has no sign-in, no account and no form. Its own few addresses
 * stand below `/-/`, where no document is.
 */
import type { Express, Request, RequestHandler, Response } from 'express';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { READING_SITE_PAGES } from '../../core/site/path.ts';
import type { WebReaderFiles } from '../../node-support/web-reader-files.ts';
import { NO_PASSKEYS } from '../../reading/document-headers.ts';
import { localTarget } from '../../reading/local-target.ts';
import { openerOf } from '../../reading/navigation.ts';
import { noticePage } from '../../reading/refusal-page.ts';
import type { FirstPage } from '../config/schema.ts';
import type { AppOptions } from '../http/app.ts';
import type { ProviderReader } from '../publication/provider.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { ContentHosts } from './content-host.ts';
import { takeTurns } from './deliveries.ts';
import { addEntrance, begin, type Entrance, readerOf, takeCode } from './entrance.ts';
import { addGiftEntrance, giftsAt } from './gift-entrance.ts';
import {
  addInBrowser,
  frontFor,
  type InBrowser,
  isReadInBrowser,
  onlyOwnWorker,
  sendLeaving,
  startInBrowser,
} from './in-browser.ts';
import {
  createReadingApp,
  documentLimit,
  handleError,
  isOpened,
  mastheadOf,
  named,
  type OwnPages,
  readingOnly,
  refuseForeign,
  refuseTooMany,
  sendRefusal,
} from './own-pages.ts';
import { inPlace } from './pages.ts';
import type { ReadPublications } from './publications.ts';
import { refusalFor } from './refusals.ts';
import { plainCookie, sessionCookie } from './session-cookie.ts';
import { answerForSite, type SiteService } from './site.ts';
import type { Teasers } from './teasers.ts';

/** Path of what is a page, by its name. */
const PAGE = /(?:\/|\.html?)$/;
/** Refusals in place of which the account's origin shows what everybody may see. */
const LED: readonly string[] = ['not-signed-in', 'not-entitled', 'lapsed', 'revoked'];

export interface DocumentsSiteOptions extends AppOptions {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly hosts: ContentHosts;
  readonly publications: ReadPublications;
  readonly teasers: Teasers;
  /** The origin at which people sign in, which the publisher's descriptor names as the reading site. */
  readonly account: string;
  /** The in-browser reader; `undefined`: documents are decrypted here for all browsers. */
  readonly webReader: WebReaderFiles | undefined;
  readonly firstPage: FirstPage;
}

/** The documents as an Express app, not listening. */
export function createDocumentsSite(options: DocumentsSiteOptions): Express {
  const { state, provider, publications, origin, account, limits } = options;
  const given = giftsAt(state, origin);
  const entrance: Entrance = {
    state,
    origin,
    account,
    isInBrowser: async () => inBrowser.isStrict && (await isReadInBrowser(inBrowser)),
    sendLeaving: (response, left) => sendLeaving(inBrowser, response, left),
    session: sessionCookie(origin),
    plain: plainCookie(origin),
    given: given.cookie,
  };
  const pages: OwnPages = {
    origin,
    account,
    masthead: () => mastheadOf({ provider, publications, account }),
    isSignedIn: async (request) => (await readerOf(entrance, request)) !== undefined,
  };
  const site: SiteService = {
    ...options,
    documents: origin,
    sendNotice: (...visit) => sendNotice(state, pages, ...visit),
  };
  const inBrowser: InBrowser = {
    ...options,
    pages,
    isStrict: options.firstPage === 'browser',
    isPlain: (request) => entrance.plain.read(request) !== undefined || given.isAsked(request),
  };
  const app = createReadingApp(options, pages, onlyOwnWorker, noPasskeys);
  addInBrowser(app, inBrowser);
  addEntrance(app, entrance, documentLimit(limits));
  addGiftEntrance(app, { ...options, given });
  app.use(READING_SITE_PAGES, (request, response) => sendRefusal(pages, request, response, refusalFor('not-found')));
  const goOn: RequestHandler = async (request, response, next) => {
    // The script in front makes a GET of it, for the browser's history; for whatever has none, a redirect does.
    if (PAGE.test(request.path) && (await frontFor(inBrowser, request))) next();
    else response.set('Cache-Control', 'no-store').redirect(303, origin + localTarget(request.originalUrl, origin));
  };
  app.use(takeCode(entrance, documentLimit(limits), goOn));
  const turns = takeTurns(limits, refuseTooMany);
  app.use(
    named,
    readingOnly(pages),
    refuseForeign(pages, (request) => isOwn(request) || isOfTeaser(request, account)),
    startInBrowser(inBrowser),
    documentLimit(limits),
    turns,
    async (request, response) => {
      // A teaser shows what everybody may have.
      const subscriber = isOwn(request) ? await readerOf(entrance, request) : undefined;
      const front = await frontFor(inBrowser, request);
      const giversOf = async (path: string) => (isOwn(request) ? given.giversOf(request, path) : []);
      const here = await provider.demandSite(account);
      await answerForSite(site, { ...here, subscriber, giversOf, front }, request, response);
    },
  );
  app.use(handleError(options, pages, (refusal, ...visit) => leadToAccount(entrance, pages, refusal.code, ...visit)));
  return app;
}

/** Pages of this origin too: a published script can reach into each of their windows. */
const noPasskeys: RequestHandler = (_request, response, next) => {
  response.set('Permissions-Policy', NO_PASSKEYS);
  next();
};

/** Leads a window to the account's origin, which shows what everybody may see of a document, or has a session for it. @returns whether it did */
async function leadToAccount(
  entrance: Entrance,
  pages: OwnPages,
  code: string,
  request: Request,
  response: Response,
): Promise<boolean> {
  if (!LED.includes(code) || openerOf(request.headers) !== 'window') return false;
  const { account, origin } = entrance;
  const isSignedIn = code !== 'not-signed-in';
  if (request.headers.referer !== `${account}/`) {
    if (isSignedIn)
      response.set('Cache-Control', 'no-store').redirect(303, account + localTarget(request.originalUrl, origin));
    else begin(entrance, response, request.originalUrl);
    return true;
  }
  // Coming from there, it would be led round and round: the browser has kept no session, or the right ended on the way.
  if (!isSignedIn) await sendRefusal(pages, request, response, refusalFor('entry-refused'));
  return !isSignedIn;
}

/** Pictures of a teaser, at the account's origin: no page of another can say that it comes from there. */
function isOfTeaser({ headers }: Request, account: string): boolean {
  return headers['sec-fetch-dest'] === 'image' && headers.referer === `${account}/`;
}

/** Documents go to pages of this origin, and to windows; not into pages of other sites. */
function isOwn(request: Request): boolean {
  const { 'sec-fetch-site': site } = request.headers;
  const fromHere = site === undefined || site === 'same-origin' || site === 'none';
  return fromHere || isOpened(request);
}

/** Stands in front of a page once in a while, also where signing in comes next. */
async function sendNotice(
  state: KeyServerState,
  pages: OwnPages,
  request: Request,
  response: Response,
  freshness: Freshness,
): Promise<void> {
  const masthead = await pages.masthead();
  const page = noticePage('stale', freshness, {
    name: masthead.publisher,
    target: request.originalUrl,
    now: state.now(),
  });
  response
    .status(503)
    .set({ 'Cache-Control': 'no-store', 'Wispr-Notice': 'stale' })
    .type('html')
    .send(inPlace(masthead, page));
}
