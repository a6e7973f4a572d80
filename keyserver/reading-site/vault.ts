/**
 * The vault: the page that hands keys to the documents' origin, and what it asks this origin for: docs/spec/web-reader.md. Pages of the documents'
 * origin are of the same site, and their requests carry the cookie: what a page of this very origin did not send is refused.
 */
import type { Express, Request, RequestHandler, Response } from 'express';
import { concat, lengthPrefixed } from '../../core/encoding/bytes.ts';
import { CodedError } from '../../core/errors.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { MAXIMUM_KEYS_PER_REQUEST } from '../../core/keys/refused-key.ts';
import { titleOfSet } from '../../core/publication/set-titles.ts';
import { KEYS_PAGE } from '../../core/site/path.ts';
import { addressOf, type ScriptAddress, type WebReaderFiles } from '../../node-support/web-reader-files.ts';
import { body, bytesOf, refuseBusy, refuseTooMany, send, sendError } from '../api/answers.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { addScript } from '../http/compressed.ts';
import { queryOf } from '../http/forms.ts';
import { limitRequests } from '../http/limits.ts';
import { shed } from '../http/shed.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { readPublication } from '../publication/stored.ts';
import { bindBrowser } from '../readers/bindings.ts';
import { type BrowserSession, deviceOfSession } from '../readers/browser-devices.ts';
import { deviceLabel } from '../readers/device-label.ts';
import { readableSets } from '../readers/entitlement.ts';
import { answerBrowserKeyRequest, answerNewBrowser } from '../readers/key-requests.ts';
import { sendSignIn } from './account-pages.ts';
import { type AccountPages, subscriberOf } from './account-session.ts';
import { isInFrame, permitFrame } from './first-page.ts';
import { openedOnly, sendPage, refuseTooMany as tooMany } from './own-pages.ts';

/** Codes of refusals and their statuses; the rest of what has a code is 400. */
const STATUS: Readonly<Record<string, number>> = {
  'cross-site': 403,
  'not-signed-in': 401,
  'request-refused': 403,
  revoked: 403,
  'no-provider': 503,
};

/** The program of the page, as a whole and by its address, and what only some browsers need. */
interface Scripts extends Readonly<Record<'mlKem' | 'script', ScriptAddress>> {
  readonly program: string;
}

const SCRIPT = '/-/vault.js';
const ML_KEM = '/-/ml-kem.js';

export interface VaultPages extends AccountPages {
  readonly provider: ProviderReader;
}

/** Adds the vault's addresses to the reading site. */
export function addVault(app: Express, pages: VaultPages, files: WebReaderFiles): void {
  const { origin, limits, state, provider, cookie } = pages;
  const asked = (limit: number, length: number) => [
    noStore,
    ownPageOnly(origin),
    limitRequests(limit, refuseTooMany),
    body(length),
    shed(refuseBusy),
  ];
  const siteHere = async () => (await provider.siteAt(origin))?.site.site;
  const { vault, 'ml-kem': mlKem } = files;
  const program = vault.content.toString();
  const scripts = { program, script: addressOf(SCRIPT, vault), mlKem: addressOf(ML_KEM, mlKem) };
  addScript(app, SCRIPT, vault);
  addScript(app, ML_KEM, mlKem);
  // Counted apart from windows: a published script could use up what its reader may open.
  const limitFrames = limitRequests(limits.keyRequestsPerAddress, tooMany);
  app.get(KEYS_PAGE, behindOnly, noStore, limitFrames, async (request, response) => {
    // The frame shows nothing, nobody asked, and keys go to that origin alone.
    permitFrame(response, pages.documents);
    await showVault(pages, scripts, request, response);
  });
  app.get(KEYS_PAGE, noStore, openedOnly, (request, response) => showVault(pages, scripts, request, response));
  app.post(
    '/-/device',
    ...asked(limits.changesPerAddress, MESSAGE_LIMITS.browserBinding),
    inJson(async (request, response) => {
      const [session, bytes] = [await sessionOf(pages, request), bytesOf(request.body)];
      const made = await bindBrowser(pages, session, bytes);
      const keys = await answerNewBrowser(state, await siteHere(), made, bytes);
      send(response, 'application/octet-stream', concat(lengthPrefixed(made.answer), keys));
    }),
  );
  app.post(
    '/-/key-requests',
    ...asked(limits.keyRequestsPerAddress, MESSAGE_LIMITS.keyRequest),
    inJson(async (request, response) => {
      const session = await sessionOf(pages, request);
      const bytes = bytesOf(request.body);
      const { answer, renewed } = await answerBrowserKeyRequest(state, origin, await siteHere(), session, bytes);
      if (renewed) cookie.set(response, session.token);
      send(response, 'application/octet-stream', answer);
    }),
  );
}

/**
 * Has the reader sign in first, where that was not done and the page itself may not be known here, at the same address: browsers keep what stands
 * behind "#". A reader who was on a page that is shown meanwhile is led back instead.
 */
async function showVault(pages: VaultPages, scripts: Scripts, request: Request, response: Response): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  const leads = await pages.opensHere();
  if (!subscriber && !leads && queryOf(request, 'silent') === '')
    return sendSignIn(pages, response.status(401), { to: KEYS_PAGE });
  const { state, provider, origin, documents, cookie } = pages;
  const { provider: known, site } = await provider.demandSite(origin);
  const pair = await readPublication(state.database);
  const { titles } = await pages.masthead();
  const sets = subscriber ? await readableSets(state, subscriber, site.site, MAXIMUM_KEYS_PER_REQUEST) : [];
  // Decided by its session alone: a browser that is going to become a device gets the program without asking.
  const isDevice = !subscriber || (await deviceOfSession(state, cookie.read(request) ?? '')) !== undefined;
  const page = {
    ...scripts,
    program: isDevice ? undefined : scripts.program,
    documents,
    publisher: known.publisher,
    isVisitor: !subscriber,
    leads,
    sets: sets.map(({ id }) => id),
    titles: JSON.stringify(Object.fromEntries(sets.map(({ id, name }) => [id, titleOfSet(titles, name)]))),
    pair: pair ? `${pair.snapshotVersion},${pair.version}` : '',
    time: state.now(),
  };
  response.set('Referrer-Policy', 'strict-origin'); // the form that hands keys over has to say where it comes from
  await sendPage(pages, response, 'keys', page);
}

/** Lets frames that ask in silence pass, but for those of other sites' pages, which have no session here. */
const behindOnly: RequestHandler = (request, _response, next) =>
  next(isBehind(request) && request.headers['sec-fetch-site'] !== 'cross-site' ? undefined : 'route');

function isBehind(request: Request): boolean {
  return isInFrame(request) && queryOf(request, 'silent') !== '';
}

/** Leads a frame behind a page on show, which waits for keys, back without any. @returns whether there is one */
export async function endFrame(documents: string, request: Request, response: Response): Promise<boolean> {
  if (request.path !== KEYS_PAGE || !isBehind(request)) return false;
  response.set('Cache-Control', 'no-store').redirect(303, documents + KEYS_PAGE);
  return true;
}

async function sessionOf(pages: VaultPages, request: Request): Promise<BrowserSession> {
  const [token, subscriber] = [pages.cookie.read(request), await subscriberOf(pages, request)];
  if (token === undefined || !subscriber) throw new KeyServerError('not-signed-in', 'no session came with the request');
  return { token, subscriber, label: deviceLabel(request.headers['user-agent']) };
}

/** Demands that both headers say so: the cookie comes with requests of other origins of this site too. */
function ownPageOnly(origin: string): RequestHandler {
  return ({ headers }, response, next) => {
    const site = headers['sec-fetch-site'];
    if (headers.origin === origin && (site === undefined || site === 'same-origin')) next();
    else sendError(response, 403, 'cross-site');
  };
}

/** Refusals are `{"error":"code"}` and nothing more; what is not foreseen is left to the site's own handler. */
function inJson(handle: (request: Request, response: Response) => Promise<void>): RequestHandler {
  return async (request, response, next) => {
    try {
      await handle(request, response);
    } catch (error) {
      if (!(error instanceof CodedError) || error.code === 'store-unusable') return next(error);
      sendError(response, STATUS[error.code] ?? 400, error.code);
    }
  };
}
