/** Turns an error into a page: plain words, a short code, and a way on. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { BUILT_IN_ACCENT } from '../../core/site/accent.ts';
import { ACCOUNT_PAGE } from '../../core/site/path.ts';
import { CONFIRMED_HEADER, confirmedAt } from '../../reading/confirmation.ts';
import { MissingSoFar } from '../../reading/missing-so-far.ts';
import { isShown, openerOf } from '../../reading/navigation.ts';
import {
  buttonOf,
  noticePage,
  type RefusalLook,
  type RefusalPage,
  refusalPage,
  refusalStyle,
} from '../../reading/refusal-page.ts';
import { refusalOf } from '../../reading/refusals.ts';
import { BRAND, PAGE } from '../../words/en/reader.ts';
import { WAYS } from '../../words/en/reader-refusals.ts';
import { ReaderError } from '../errors.ts';
import { VIA } from '../network/answer-fields.ts';
import { CONTROL_HEADERS, PAGE_HEADERS, renderPage } from './template.ts';
import { refusalText } from './texts.ts';

export interface RefusedAddresses {
  /** Address that was asked for, as the reader knows it: host and path. */
  readonly address?: string | undefined;
  /** Address of the document at the reading site, where signatures and freshness of the publication were found good. */
  readonly readingUrl?: string | undefined;
  /** Windows that are led there at once, by the signed settings; left out: nobody, but the button leads there. */
  readonly redirect?: SiteSettings['redirect'];
  readonly publicLink?: (() => string) | undefined;
  /** Address of the first page of the site, where it was not that page that was asked for. */
  readonly firstPage?: (() => string) | undefined;
  /** Path and query of what was asked for, if it can be asked for again. */
  readonly again?: string | undefined;
  /** Look that the publisher wants for pages in place of its own, by its signed settings. */
  readonly look?: (() => RefusalLook) | undefined;
  readonly ownPage?: string | undefined;
}

export interface RefusedRequest extends RefusedAddresses {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly confirmed?: string | undefined;
  /** The request was for one of the Reader's own pages, and is answered as one of them. */
  readonly own?: boolean | undefined;
}

/** Answers with a page; where bytes are out already, ends the transfer visibly incomplete. */
export function refuse(
  error: unknown,
  { request, response, confirmed, own, ...addresses }: RefusedRequest,
): CodedError {
  const known =
    error instanceof CodedError
      ? error
      : new ReaderError('internal', `internal error: ${reasonOf(error)}`, { cause: error });
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return known;
  }
  const page = pageOf(known, { ...addresses, again: againOf(request) });
  const { status = 502, location } = page;
  const { headers: asked } = request;
  const isLedOn = location !== undefined && openerOf(asked) === 'window';
  const { headers, html } = own ? ownPage(page) : rendered(page, addresses.look?.());
  const isPlain = !own && asked.accept !== undefined && openerOf(asked) === 'program';
  const text = isPlain ? `${page.title} (${known.code}): ${known.message}\n${page.lead}\n` : html;
  const body = isShown(asked) ? text : '';
  response.writeHead(isLedOn ? 302 : status, {
    ...headers,
    ...(isPlain && { 'content-type': 'text/plain; charset=utf-8' }),
    'content-length': String(Buffer.byteLength(body)),
    ...(isLedOn && { location }),
    'wispr-refusal': known.code,
    via: VIA,
    ...(confirmed !== undefined && { [CONFIRMED_HEADER]: confirmed }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
    ...refreshOf(page.refresh, request),
    ...(isStillComing(request) && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
  return known;
}

interface Rendered {
  readonly headers: OutgoingHttpHeaders;
  readonly html: string;
}

function ownPage({ title, lead, facts: [code = '', detail = ''] }: RefusalPage): Rendered {
  const action = { text: PAGE.back, url: '/' };
  const facts = [
    [PAGE.code, code],
    [PAGE.detail, detail],
  ] as const;
  return { headers: CONTROL_HEADERS, html: renderPage({ title, lead, place: 'other', action, facts }) };
}

/** Renders what stands in place of a document; the publisher's logo may load, from the site itself. */
function rendered(page: RefusalPage, look?: RefusalLook): Rendered {
  const { accent, ...others } = look ?? { name: BRAND, accent: BUILT_IN_ACCENT };
  const style = refusalStyle(accent);
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; ${look ? "img-src 'self'; " : ''}base-uri 'none'; form-action 'none'; frame-ancestors 'self'`;
  return {
    headers: { ...PAGE_HEADERS, 'content-security-policy': policy },
    html: refusalPage(page, { accent, ...others }, `<style>${style}</style>`),
  };
}

/** The page of an error of no request that could be read. */
export function refusalOnly(error: CodedError): Rendered & { readonly status: number } {
  const page = pageOf(error, {});
  return { ...rendered(page), status: page.status ?? 502 };
}

/** The rest of an unwanted body is not read. */
function isStillComing({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);
}

/** Names the address: where a page has a `#`, browsers would else only go to that place in it. */
function refreshOf(seconds: number | undefined, request: IncomingMessage): Record<string, string> {
  const again = againOf(request);
  return seconds === undefined || again === undefined ? {} : { refresh: `${seconds};url=${again}` };
}

/** Path and query of a page that a browser can ask for again; nothing that could lead to another host. */
function againOf({ method, url = '' }: IncomingMessage): string | undefined {
  const target = url.replace(/^http:\/\/[^/?]*/i, '') || '/';
  return method === 'GET' && /^\/(?![/\\])/.test(target) ? target : undefined;
}

/** Codes that say that there is no key here: whoever signs in at the reading site may have one. */
const NO_KEY = new Set<string>(['key-missing', 'not-entitled', 'lapsed', 'revoked', 'key-server-unreachable']);
/** Codes that say that nothing came, or nothing newer: the reading site may have it. Of what came and was refused, no page leads there. */
const NOT_LOADED: ReadonlySet<string> = new Set(['object-missing', 'content-host-answer', 'content-host-unreachable']);

/** Words of the button to the Reader's own page, where that is the way on. */
const OWN_PAGE: Record<string, string | undefined> = { 'reader-locked': WAYS.unlock, 'host-unknown': WAYS.home };

interface PageInPlace extends RefusalPage {
  /** Seconds after which the page looks again by itself: what keeps the document back passes without it. */
  readonly refresh?: number | undefined;
  /** Address to which a window goes on at once. */
  readonly location?: string | undefined;
}

function pageOf(error: CodedError, addresses: RefusedAddresses): PageInPlace {
  const { address, again, firstPage, look, ownPage, readingUrl, redirect, publicLink } = addresses;
  const isSoFar = error instanceof MissingSoFar;
  const text = (isSoFar && refusalOf(error)) || refusalText(error.code);
  const own = OWN_PAGE[error.code];
  const urls = {
    again,
    front: firstPage?.(),
    subscribe: look?.().subscribe,
    account: readingUrl && new URL(ACCOUNT_PAGE, readingUrl).href,
  };
  const way = own && ownPage ? { text: own, url: ownPage, tab: true } : buttonOf(text.way, urls);
  const isNoKey = NO_KEY.has(error.code);
  const mayBeThere = isNoKey || isSoFar || NOT_LOADED.has(error.code);
  const there = mayBeThere && readingUrl ? { text: WAYS.readAt(new URL(readingUrl).host), url: readingUrl } : undefined;
  const [button, link] = there && isNoKey && redirect !== 'never' ? [there, way] : [way, there];
  return {
    ...text,
    refresh: error.code === 'reader-locked' ? 3 : undefined,
    button,
    links: link ? [link] : [],
    location: isNoKey && redirect === 'always' ? readingUrl : undefined,
    facts: [error.code, error.message, address, text.status === 404 ? undefined : publicLink?.()].filter(
      (fact) => fact !== undefined,
    ),
  };
}

/** Returns the address of the document's fallback page, for everybody: on the site's own host. */
export function publicLinkOf(site: string, content: readonly string[], target: string): string {
  return `${content.includes(`https://${site}`) ? 'https' : 'http'}://${site}${target}`;
}

interface Notice {
  /** Path and query of what was asked for: where the way on leads. */
  readonly target: string;
  readonly freshness: Freshness;
  /** Seconds since 1970. */
  readonly now: number;
  readonly look: RefusalLook;
}

/** The page in front of a site that has not been confirmed for long, or of what is kept here of one. */
export function sendNotice(response: ServerResponse, kind: 'past' | 'stale', notice: Notice): void {
  const { freshness, look } = notice;
  const page = noticePage(kind, freshness, { ...notice, name: look.name });
  const { headers, html } = rendered(page, look);
  response.writeHead(page.status ?? 503, {
    ...headers,
    ...(kind === 'past' && { 'referrer-policy': 'same-origin' }), // shows that the next request comes from here
    'content-length': String(Buffer.byteLength(html)),
    'wispr-notice': kind,
    via: VIA,
    [CONFIRMED_HEADER]: confirmedAt(freshness),
  });
  response.end(html);
}
