/**
 * The reading site: every document of the site at its own path, for browsers without the Reader. Its own pages stand below `/-/`, where no
 * document is. They share the host with the publisher's content for now (docs/keyserver.md says what follows from that).
 */
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago } from '../../core/reading/confirmation.ts';
import { READING_SITE_PAGES } from '../../core/site/path.ts';
import { KeyServerError } from '../errors.ts';
import { createDoor, type DoorOptions } from '../http/door.ts';
import { limitRequests, type RequestLimits } from '../http/limits.ts';
import { type ProviderReader, siteReadAt } from '../publication/provider.ts';
import type { KeyServerState } from '../storage/state.ts';
import { type AccountPages, addAccountPages, refuseTooMany, sendSignIn, subscriberOf } from './account-pages.ts';
import type { ContentHosts } from './content-host.ts';
import { type Masthead, noticePage, refusalPage } from './pages.ts';
import type { ReadPublications } from './publications.ts';
import { INTERNAL_REFUSAL, type Refusal, refusalFor } from './refusals.ts';
import { knownBrowserCookie, sessionCookie } from './session-cookie.ts';
import { answerForSite, type SiteService } from './site.ts';

export interface ReadingSiteOptions extends DoorOptions {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly hosts: ContentHosts;
  readonly publications: ReadPublications;
  readonly limits: RequestLimits;
}

/** The reading site as an Express app, not listening. */
export function createReadingSite(options: ReadingSiteOptions): Express {
  const { provider, origin, dev } = options;
  const pages: AccountPages = {
    ...options,
    cookie: sessionCookie(origin, dev),
    knownBrowser: knownBrowserCookie(origin, dev),
    masthead: () => masthead(provider, origin),
  };
  const site: SiteService = { ...options, sendNotice: (...visit) => sendNotice(pages, ...visit) };
  const app = createDoor(
    options,
    (request, response) => void sendRefusal(pages, request, response, refusalFor('misdirected-request')),
  );
  addAccountPages(app, pages);
  app.use(READING_SITE_PAGES, (request, response) => sendRefusal(pages, request, response, refusalFor('not-found')));
  app.use(named, documentLimit(options), methods(pages), ownPagesOnly(pages), async (request, response) => {
    const subscriber = subscriberOf(pages, request);
    await answerForSite(site, { provider: await provider.read(), subscriber }, request, response);
  });
  app.use(handleError(options, pages));
  return app;
}

/** In logs, documents have no names. */
const named: RequestHandler = (_request, response, next) => {
  response.locals.route = 'document';
  next();
};

/** Public documents need no signing in, and the whole of one is fetched and checked for the least part of it. */
function documentLimit({ limits }: ReadingSiteOptions): RequestHandler {
  return limitRequests(limits.documentsPerAddress, 'address', refuseTooMany, { failuresOnly: false });
}

function methods(pages: AccountPages): RequestHandler {
  return async (request, response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD') next();
    else await sendRefusal(pages, request, response.set('Allow', 'GET, HEAD'), refusalFor('method-not-allowed'));
  };
}

/**
 * Documents go to pages of this origin, and to windows; not into pages of other sites. A service worker would get
 * between the reader and every later page.
 */
function ownPagesOnly(pages: AccountPages): RequestHandler {
  return async (request, response, next) => {
    const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = request.headers;
    const own = site === undefined || site === 'same-origin' || site === 'none';
    const opened = mode === 'navigate' && destination === 'document';
    if ((own || opened) && request.headers['service-worker'] === undefined) next();
    else await sendRefusal(pages, request, response, refusalFor('foreign-page'));
  };
}

function handleError({ log }: DoorOptions, pages: AccountPages): ErrorRequestHandler {
  return async (error, request, response, _next) => {
    const refusal = isFormError(error) ? refusalFor('bad-request') : refusalFor(error);
    if (!refusal && !isDisconnect(error)) log.error({ err: error }, 'unforeseen error');
    else if (refusal && refusal.status >= 500) log.warn({ code: refusal.code }, 'refused');
    // A clean end would pass for the whole document.
    if (response.headersSent || response.destroyed) return void response.destroy();
    if (refusal?.code === 'not-signed-in' && wantsPage(request)) return signInHere(pages, request, response);
    await sendRefusal(pages, request, response, refusal ?? INTERNAL_REFUSAL);
  };
}

/** The sign-in page stands at the document's own URL, so that the address bar, and what follows "#", stay as they are. */
function signInHere(pages: AccountPages, request: Request, response: Response): Promise<void> {
  response.set({ 'Cache-Control': 'no-store', 'WWW-Authenticate': 'Wispr-Session' });
  return sendSignIn(pages, response, 401, { to: request.originalUrl, name: '', failed: false });
}

async function sendRefusal(
  pages: AccountPages,
  request: Request,
  response: Response,
  refusal: Refusal = INTERNAL_REFUSAL,
): Promise<void> {
  response.status(refusal.status).set('Cache-Control', 'no-store');
  if (!wantsPage(request)) return void response.type('text').send(`${refusal.title} (${refusal.code})\n`);
  response.type('html').send(refusalPage(await pages.masthead(), refusal, subscriberOf(pages, request) !== undefined));
}

/** Pictures, styles and scripts that fail get a line of text; windows, and programs that do not say, get a page. */
function wantsPage({ headers }: Request): boolean {
  const destination = headers['sec-fetch-dest'];
  return destination === undefined || destination === 'document' || destination === 'iframe';
}

/** Stands in front of a page once in a while, also where signing in comes next. */
async function sendNotice(
  pages: AccountPages,
  request: Request,
  response: Response,
  { confirmed, shownUntil }: Freshness,
): Promise<void> {
  const page = {
    target: request.originalUrl,
    checked: ago(confirmed, pages.state.now()),
    confirmed: new Date(confirmed * 1000).toISOString(),
    shownUntil: new Date(shownUntil * 1000).toISOString(),
  };
  response.status(503).set('Cache-Control', 'no-store').type('html');
  response.send(noticePage(await pages.masthead(), page));
}

async function masthead(provider: ProviderReader, origin: string): Promise<Masthead> {
  const known = await provider.read();
  const site = known && siteReadAt(known.descriptor, origin);
  return {
    publisher: known?.descriptor.name ?? 'Reading site',
    site: site?.site ?? new URL(origin).host,
    signed: site !== undefined,
  };
}

/** What express.urlencoded throws: a form too large, cut short, or in a coding. */
function isFormError(error: unknown): boolean {
  return (
    !(error instanceof KeyServerError) && error instanceof Error && 'status' in error && Number(error.status) < 500
  );
}

/** The browser went away. */
function isDisconnect(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}
