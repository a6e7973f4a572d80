/**
 * The in-browser reader at the documents' origin: the page that starts it, which stands for every address, its scripts, and what it asks of this
 * origin. The documents themselves come from the content hosts, and are decrypted by the worker in the browser.
 */
import { parseCookie } from 'cookie';
import type { Express, Request, RequestHandler, Response } from 'express';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { BEHIND_PAGE, KEYS_PAGE, STRICT_COOKIE } from '../../core/site/path.ts';
import { isLoopback } from '../../core/site/site.ts';
import {
  SCRIPTS_OF_WORKER,
  type WebReaderFile,
  type WebReaderFiles,
  type WorkerSite,
  workerFor,
} from '../../node-support/web-reader-files.ts';
import { openerOf, senderOf } from '../../reading/navigation.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { addScript, sendFile } from '../http/compressed.ts';
import { formOf } from '../http/forms.ts';
import { limitRequests, type RequestLimits } from '../http/limits.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { readMetadata } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';
import { isInFrame, type PageFront, pageFront, permitFrame } from './first-page.ts';
import { accountOnly, type OwnPages, openedOnly, refuseTooMany, sendPage } from './own-pages.ts';
import { versionHere } from './program.ts';
import type { ReadPublications } from './publications.ts';

export interface InBrowser {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly publications: ReadPublications;
  readonly account: string;
  readonly pages: OwnPages;
  readonly limits: RequestLimits;
  /** `undefined`: documents are decrypted here. */
  readonly webReader: WebReaderFiles | undefined;
  /** Tells whether a browser's first page is opened by the in-browser reader, as all others are. */
  readonly isStrict: boolean;
  /** Tells whether a browser has asked to read what is decrypted here, for want of scripts or of service workers. A session is no such word: any page can bring one about. */
  readonly isPlain: (request: Request) => boolean;
}

const WORKER = '/-/worker.js';
const SCRIPT = '/-/start.js';

/** The worker asks the content hosts, whichever they are; it loads no code. */
const WORKER_POLICY = "default-src 'none'; connect-src *";
/** @param content - origins of the content hosts, which the page tries before it installs anything */
function pagePolicy(script: WebReaderFile, vault: string, content: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src '${script.integrity}'`,
    "style-src 'self'",
    'img-src data:',
    // The vault in a frame, which hands keys to the worker here.
    `frame-src 'self' ${vault}`,
    `connect-src 'self' ${content.join(' ')}`,
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/**
 * Refuses every script that a browser wants as a worker, but the one: it would stand between the reader and every later page. Stands before
 * everything else of the documents' origin.
 */
export const onlyOwnWorker: RequestHandler = ({ headers, path }, _response, next) => {
  const isWorker = headers['service-worker'] !== undefined || headers['sec-fetch-dest'] === 'serviceworker';
  next(
    isWorker && path !== WORKER ? new KeyServerError('foreign-worker', 'a page tried to install a worker') : undefined,
  );
};

/** Characters of the form that brings keys: base64url of 128 KiB, and an address. */
const ARRIVAL_LENGTH = 200_000;
const arrival = formOf(ARRIVAL_LENGTH, 3);

/** Adds the routes below `/-/`. */
export function addInBrowser(app: Express, reader: InBrowser): void {
  const { webReader, state, limits } = reader;
  if (webReader === undefined) return;
  const ownWorker = rememberWorker(webReader);
  addScript(app, SCRIPT, webReader.start);
  for (const name of SCRIPTS_OF_WORKER) addScript(app, `/-/${name}.js`, webReader[name]);
  app.get(WORKER, async (request, response) => {
    const { site, provider } = await reader.provider.demandSite(reader.account);
    response.set({ 'Service-Worker-Allowed': '/', 'Content-Security-Policy': WORKER_POLICY });
    const worker = ownWorker({ reading: reader.account, root: provider.publisher, site: site.site });
    sendFile(request, response, 'text/javascript', worker);
  });
  // The worker answers for it, once it is there.
  app.get('/-/library', noStore, openedOnly, (_request, response) => sendStart(reader, response, '/'));
  app.get('/-/site.json', async (_request, response) => sendSite(reader, response));
  const limit = limitRequests(limits.metadataPerAddress, refuseTooMany);
  app.get('/-/publication/current', limit, async (_request, response) => {
    const { provider, site } = await reader.provider.demandSite(reader.account);
    response.set({ 'Cache-Control': 'no-cache', 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' });
    response.end(await reader.publications.bundleOf(provider, site));
  });
  // Knowledge of the key server about the publication counts no more than the word of a content host.
  app.get('/-/publication/:file', limit, async (request, response) => {
    const bytes = await readMetadata(state.database, String(request.params.file));
    response.set('Cache-Control', 'no-cache');
    if (!bytes) return void response.status(404).end();
    response.set('Content-Type', 'application/json').end(bytes);
  });
  app.get(KEYS_PAGE, noStore, openedOnly, (_request, response) => sendStart(reader, response, '/'));
  // The worker takes keys; where there is none any more, it is started again, and asks again.
  app.post(KEYS_PAGE, noStore, openedOnly, accountOnly(reader.account), arrival, (request, response) => {
    const { to = '' } = (request.body ?? {}) as Record<string, unknown>;
    return sendStart(reader, response, '/', { leadsTo: String(to) });
  });
  addScript(app, '/-/first.js', webReader.first);
  app.get(BEHIND_PAGE, noStore, (request, response) => {
    if (!isInFrame(request) || senderOf(request.headers) !== 'here')
      throw new KeyServerError('cross-site', 'no page of this origin has it in a frame');
    return sendStart(reader, response, '/', { isBehind: true });
  });
}

/** Answers with the page that starts the in-browser reader, where a document is opened in a browser that can be expected to have one. */
export function startInBrowser(reader: InBrowser): RequestHandler {
  return async (request, response, next) => {
    const isWanted = isPage(request) && mayStart(reader, request) && (await isReadInBrowser(reader));
    if (!isWanted) return next();
    await sendStart(reader, response, request.originalUrl);
  };
}

function mayStart({ isStrict, isPlain }: InBrowser, request: Request): boolean {
  return !isPlain(request) && (isStrict || parseCookie(request.headers.cookie ?? '')[STRICT_COOKIE] !== undefined);
}

/** Makes the addition to a page that is opened here first, and later by the in-browser reader. */
export async function frontFor(reader: InBrowser, request: Request): Promise<PageFront | undefined> {
  const { webReader, account, publications } = reader;
  const isWanted = !reader.isStrict && isPage(request) && !reader.isPlain(request);
  if (!webReader || !isWanted || !(await isReadInBrowser(reader))) return undefined;
  const { provider, site } = await reader.provider.demandSite(reader.account);
  return pageFront(webReader, account, publications.settingsOf(provider, site).sheet !== false);
}

/** Tells whether documents are read in the browser: the reader is there, and asks content hosts, which a page of HTTPS cannot do over plain HTTP. */
export async function isReadInBrowser({
  webReader,
  provider,
  account,
}: Pick<InBrowser, 'account' | 'provider' | 'webReader'>): Promise<boolean> {
  const here = webReader && (await provider.siteAt(account));
  const origins = here?.site.content.map((origin) => new URL(origin));
  return origins?.every(({ protocol, hostname }) => protocol === 'https:' || isLoopback(hostname)) ?? false;
}

/** Tells whether a browser opens a page in a window of its own. Programs do not ask for HTML, and get documents. */
function isPage({ method, headers }: Request): boolean {
  return method === 'GET' && openerOf(headers) === 'window';
}

/** Removes what the origin keeps in the browser, and leads to the sign-in. */
export async function sendLeaving(reader: InBrowser, response: Response, left: string): Promise<void> {
  if (reader.webReader) return sendStart(reader, response, '/', { leaving: left });
  response.redirect(303, `${reader.account}/-/sign-in?left=${left}`);
}

interface StartOptions {
  /** Address that the reader is on the way to, if it is not this one. */
  readonly leadsTo?: string;
  /** Tells whether it runs in a frame behind a page on show. */
  readonly isBehind?: boolean;
  /** Removes what the origin keeps in the browser, and leads to the sign-in. */
  readonly leaving?: string;
}

/** @param to - path and query of the document, for readers who read what is decrypted here */
async function sendStart(reader: InBrowser, response: Response, to: string, more: StartOptions = {}): Promise<void> {
  const { account, provider, webReader, pages } = reader;
  if (webReader === undefined) throw new Error('the in-browser reader is not there');
  const { content = [] } = (await provider.siteAt(account))?.site ?? {};
  const page = {
    ...more,
    reading: account,
    asked: content.map((origin) => origin + METADATA_PATH + TIMESTAMP_FILE),
    script: webReader.start.content.toString(),
    plain: `/-/plain?${new URLSearchParams({ to })}`,
  };
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': pagePolicy(webReader.start, account, content),
  });
  if (more.isBehind) permitFrame(response, "'self'");
  await sendPage(pages, response, 'start', page);
}

async function sendSite(reader: InBrowser, response: Response): Promise<void> {
  const { account: reading, webReader } = reader;
  const { site, provider } = await reader.provider.demandSite(reading);
  const answer = {
    site: site.site,
    root: provider.publisher,
    content: site.content,
    reading,
    version: webReader ? await versionHere(webReader, provider, site) : '',
  };
  response.set('Cache-Control', 'no-cache').json(answer);
}

function rememberWorker(webReader: WebReaderFiles): (site: WorkerSite) => WebReaderFile {
  let made: { readonly site: WorkerSite; readonly file: WebReaderFile } | undefined;
  return (site) => {
    if (made?.site.root !== site.root || made.site.site !== site.site)
      made = { site, file: workerFor(webReader, site) };
    return made.file;
  };
}
