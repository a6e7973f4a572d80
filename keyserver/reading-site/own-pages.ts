/** Answers of both origins of the reading site in place of what was asked for: pages of refusal, without a form. */
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import { isSoldHere } from '../../core/publication/offers.ts';
import { accentOf } from '../../core/site/accent.ts';
import { SUBSCRIBE_PAGE, urlPathOf } from '../../core/site/path.ts';
import { localTarget } from '../../reading/local-target.ts';
import { isShown, openerOf } from '../../reading/navigation.ts';
import { refusalStyle } from '../../reading/refusal-page.ts';
import { READING_SITE } from '../../words/en/reading-site.ts';
import { KeyServerError } from '../errors.ts';
import { type AppOptions, createApp } from '../http/app.ts';
import { compressAnswers, sendFile } from '../http/compressed.ts';
import { limitRequests, type RequestLimits, retryAfter } from '../http/limits.ts';
import { type ProviderReader, siteReadAt } from '../publication/provider.ts';
import { type Masthead, REFUSAL_STYLE_SHEET, refusalPage, render, styleSheet } from './pages.ts';
import type { ReadPublications } from './publications.ts';
import { type CodedRefusal, INTERNAL_REFUSAL, refusalFor } from './refusals.ts';

/** Seconds after which the page of `busy` says to try again. */
const BUSY_SECONDS = 60;

export interface OwnPages {
  readonly origin: string;
  /** The origin at which people sign in. */
  readonly account: string;
  readonly masthead: () => Promise<Masthead>;
  readonly isSignedIn: (request: Request) => Promise<boolean>;
}

/** An app of the reading site, with the style sheets that pages load. */
export function createReadingApp(options: AppOptions, pages: OwnPages, ...guards: readonly RequestHandler[]): Express {
  const misdirected: RequestHandler = (request, response) =>
    sendRefusal(pages, request, response, refusalFor('misdirected-request'));
  const app = createApp(options, misdirected, refuseTooMany);
  for (const guard of guards) app.use(guard);
  app.use(compressAnswers);
  app.get('/-/style.css', async (request, response) =>
    sendFile(request, response, 'text/css', styleSheet((await pages.masthead()).accent)),
  );
  app.get(REFUSAL_STYLE_SHEET, async (_request, response) => {
    response
      .type('css')
      .set('Cache-Control', 'no-cache')
      .send(refusalStyle((await pages.masthead()).accent));
  });
  return app;
}

/** Sends a page in which its style sheet stands: the policy names that. @param page - data of its template */
export async function sendPage(
  { masthead }: Pick<OwnPages, 'masthead'>,
  response: Response,
  template: string,
  page: object = {},
): Promise<void> {
  const head = await masthead();
  const { integrity } = styleSheet(head.accent);
  const policy = String(response.get('Content-Security-Policy'));
  response.set('Content-Security-Policy', policy.replace('style-src ', `style-src '${integrity}' `));
  response.type('html').send(render(template, head, page));
}

export interface MastheadSource {
  readonly provider: ProviderReader;
  readonly publications: ReadPublications;
  readonly account: string;
}

/** Makes the head of the pages of both origins. The signed settings are those at hand: no page waits for a content host. */
export async function mastheadOf({ provider, publications, account }: MastheadSource): Promise<Masthead> {
  const known = await provider.read();
  const site = known && siteReadAt(known.descriptor, account);
  const { accent, logo, plans = [], subscribe, titles = [] } = site ? publications.settingsOf(known, site) : {};
  return {
    publisher: known?.descriptor.name ?? READING_SITE.unnamed,
    site: site?.site ?? new URL(account).host,
    signed: site !== undefined,
    accent: accentOf(accent),
    logo: logo === undefined ? undefined : urlPathOf(logo),
    subscribe: isSoldHere(plans) ? account + SUBSCRIBE_PAGE : subscribe,
    titles,
    plans,
    content: site?.content[0],
  };
}

export async function sendRefusal(
  pages: OwnPages,
  request: Request,
  response: Response,
  refusal: CodedRefusal = INTERNAL_REFUSAL,
): Promise<void> {
  response.status(refusal.status ?? 502).set({ 'Cache-Control': 'no-store', 'Wispr-Refusal': refusal.code });
  if (refusal.code === 'busy') retryAfter(response, BUSY_SECONDS);
  if (!isShown(request.headers)) return void response.end();
  const again = request.method === 'GET' ? localTarget(request.originalUrl, pages.origin) : undefined;
  const links = { account: pages.account, signedIn: await pages.isSignedIn(request), again };
  response.type('html').send(refusalPage(await pages.masthead(), refusal, links));
}

/** @param handle - answers some errors in its own way; returns whether it did */
export function handleError(
  { log }: AppOptions,
  pages: OwnPages,
  handle: (refusal: CodedRefusal, request: Request, response: Response) => Promise<boolean> = async () => false,
): ErrorRequestHandler {
  return async (error, request, response, _next) => {
    const refusal = isFormError(error) ? refusalFor('bad-request') : refusalFor(error);
    if (!refusal && !isDisconnect(error)) log.error({ err: error }, 'unforeseen error');
    else if (refusal && (refusal.status ?? 502) >= 500) log.warn({ code: refusal.code }, 'refused');
    // A clean end would pass for the whole document.
    if (response.headersSent || response.destroyed) return void response.destroy();
    try {
      if (await handle(refusal ?? INTERNAL_REFUSAL, request, response)) return;
      await sendRefusal(pages, request, response, refusal ?? INTERNAL_REFUSAL);
    } catch (failure) {
      log.error({ err: failure }, 'unforeseen error');
      const { title, code } = INTERNAL_REFUSAL; // pages need the database
      response.status(500).type('text').send(`${title} (${code})\n`);
    }
  };
}

export function readingOnly(pages: OwnPages): RequestHandler {
  return async (request, response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD') next();
    else await sendRefusal(pages, request, response.set('Allow', 'GET, HEAD'), refusalFor('method-not-allowed'));
  };
}

/** Limits documents: public ones need no signing in, and the whole of one is fetched and checked for the least part of it. */
export function documentLimit({ documentsPerAddress }: RequestLimits): RequestHandler {
  return limitRequests(documentsPerAddress, refuseTooMany);
}

/** Forms that succeed cost work too, and can be sent again. */
export function limitChanges({ changesPerAddress }: RequestLimits): RequestHandler {
  const limit = limitRequests(changesPerAddress, refuseTooMany);
  return (request, response, next) => (request.method === 'POST' ? limit(request, response, next) : next());
}

/** Answers 429. */
export const refuseTooMany: RequestHandler = (_request, _response, next) =>
  next(new KeyServerError('too-many-requests', 'too many attempts'));

/** Forbids keeping the answer, and saying where the reader comes from. */
export const unrecorded: RequestHandler = (_request, response, next) => {
  response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  next();
};

/**
 * Refuses what pages of other sites load. Stands before the limits: such a page could use up what the reader's address may do.
 *
 * @param isOwn - whether a request is one of a window, or of an own page
 */
export function refuseForeign(pages: OwnPages, isOwn: (request: Request) => boolean): RequestHandler {
  return async (request, response, next) => {
    if (isOwn(request)) next();
    else await sendRefusal(pages, request, response, refusalFor('foreign-page'));
  };
}

/** Tells whether a page is opened in a window of its own, as browsers say. Programs do not say, though some name a mode. */
export function isOpened({ headers }: Request): boolean {
  return openerOf(headers) !== 'page';
}

/** Frames and scripts begin and end nothing. @throws KeyServerError `cross-site`, to the error handler */
export const openedOnly: RequestHandler = (request, _response, next) =>
  next(isOpened(request) ? undefined : new KeyServerError('cross-site', 'a page tried to sign in by itself'));

/** Lets a form of the account pass, which the documents' origin has none of. @throws KeyServerError `cross-site`, to the error handler */
export function accountOnly(account: string): RequestHandler {
  return ({ headers }, _response, next) =>
    next(headers.origin === account ? undefined : new KeyServerError('cross-site', 'no page of the account sent this'));
}

/** Keeps documents' names out of logs. */
export const named: RequestHandler = (_request, response, next) => {
  response.locals.route = 'document';
  next();
};

/** Tells whether express.urlencoded threw it: a form too large, cut short, or in a coding. */
function isFormError(error: unknown): boolean {
  if (error instanceof KeyServerError || !(error instanceof Error)) return false;
  return 'status' in error && Number(error.status) < 500;
}

/** The browser went away while a document was sent, or before. */
function isDisconnect(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DISCONNECTS.includes(error.code);
}

const DISCONNECTS: readonly unknown[] = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'];
