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
import { noticePage } from '../../reading/refusal-page.ts';
import type { FirstPage } from '../config/schema.ts';
import type { AppOptions } from '../http/app.ts';
import type { ProviderReader } from '../publication/provider.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { ContentHosts } from './content-host.ts';
import { takeTurns } from './deliveries.ts';
import { addEntrance, begin, type Entrance, readerOf, takeCode } from './entrance.ts';
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

/** Path of what is a page, by its name. */
const PAGE = /(?:\/|\.html?)$/;

export interface DocumentsSiteOptions extends AppOptions {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly hosts: ContentHosts;
  readonly publications: ReadPublications;
  /** The origin at which people sign in, which the publisher's descriptor names as the reading site. */
  readonly account: string;
  /** The in-browser reader; `undefined`: documents are decrypted here for all browsers. */
  readonly webReader: WebReaderFiles | undefined;
  readonly firstPage: FirstPage;
}

/** The documents as an Express app, not listening. */
export function createDocumentsSite(options: DocumentsSiteOptions): Express {
  const { state, provider, publications, origin, account, limits } = options;
  const entrance: Entrance = {
    state,
    origin,
    account,
    isInBrowser: async () => inBrowser.isStrict && (await isReadInBrowser(inBrowser)),
    sendLeaving: (response) => sendLeaving(inBrowser, response),
    session: sessionCookie(origin),
    plain: plainCookie(origin),
  };
  const pages: OwnPages = {
    origin,
    account,
    masthead: () => mastheadOf({ provider, publications, account }),
    isSignedIn: async (request) => (await readerOf(entrance, request)) !== undefined,
  };
  const site: SiteService = { ...options, sendNotice: (...visit) => sendNotice(state, pages, ...visit) };
  const inBrowser: InBrowser = {
    ...options,
    pages,
    isStrict: options.firstPage === 'browser',
    isPlain: (request) => entrance.plain.read(request) !== undefined,
  };
  const app = createReadingApp(options, pages, onlyOwnWorker, noPasskeys);
  addInBrowser(app, inBrowser);
  addEntrance(app, entrance, documentLimit(limits));
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
    refuseForeign(pages, isOwn),
    startInBrowser(inBrowser),
    documentLimit(limits),
    turns,
    async (request, response) => {
      const subscriber = await readerOf(entrance, request);
      const front = await frontFor(inBrowser, request);
      await answerForSite(site, { provider: await provider.read(), subscriber, front }, request, response);
    },
  );
  app.use(handleError(options, pages, (refusal, ...visit) => signInFirst(entrance, pages, refusal.code, ...visit)));
  return app;
}

/** Pages of this origin too: a published script can reach into each of their windows. */
const noPasskeys: RequestHandler = (_request, response, next) => {
  response.set('Permissions-Policy', NO_PASSKEYS);
  next();
};

/** Leads to the sign-in, where a document that needs it is opened in a window of its own. @returns whether it did */
async function signInFirst(
  entrance: Entrance,
  pages: OwnPages,
  code: string,
  request: Request,
  response: Response,
): Promise<boolean> {
  if (code !== 'not-signed-in' || !isOpened(request)) return false;
  // Sent for the form that brought a code alone: a browser that has kept no session would be led round and round.
  if (request.headers.referer === `${entrance.account}/`)
    await sendRefusal(pages, request, response, refusalFor('entry-refused'));
  else begin(entrance, response, request.originalUrl);
  return true;
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
