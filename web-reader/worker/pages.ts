/** The worker's own pages, in place of a document: one sentence, one button, and for the publisher the code. They need nothing from anywhere. */
import { escapeHtml } from '../../core/encoding/html.ts';
import { type CodedError, reasonOf } from '../../core/errors.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import type { Accent } from '../../core/site/accent.ts';
import { ACCOUNT_PAGE } from '../../core/site/path.ts';
import { scope } from './scope.ts';

/** What stands at the head of a page. */
export interface Masthead {
  /** What the publisher calls itself. */
  readonly name: string;
  readonly accent: Accent;
  /** Where people subscribe, by the signed settings. */
  readonly subscribe?: string | undefined;
}

interface Text {
  /** Default: 502. */
  readonly status?: number;
  readonly sentence: string;
  /** Whether what was read before still opens. */
  readonly othersOpen?: true;
  /** What the button to where people subscribe says; without one, it tries again. */
  readonly subscribe?: string;
}

const CHANGED: Text = { sentence: 'This page was changed on its way to you, so it is not shown.' };
const NOT_LOADED: Text = {
  sentence: 'This page could not be loaded: check your connection.',
  othersOpen: true,
};
const OUTDATED: Text = {
  sentence: 'For too long it could not be checked whether this site is up to date, so it is not shown.',
};
const NO_PAGE: Text = { status: 404, sentence: 'There is no such page.' };

/** By code. What is not here has failed a check. */
const TEXTS: Readonly<Record<string, Text>> = {
  'not-entitled': {
    status: 403,
    sentence: 'Your subscription does not include this page.',
    subscribe: 'See subscriptions',
  },
  lapsed: { status: 403, sentence: 'Your subscription has ended.', subscribe: 'Renew' },
  revoked: { status: 403, sentence: 'The publisher has ended your access.', subscribe: 'See subscriptions' },
  'key-missing': { status: 403, sentence: 'Your subscription does not include this page.' },
  'key-not-valid-now': { status: 403, sentence: 'Your key for this page is not valid now.' },
  'path-refused': NO_PAGE,
  'no-such-document': NO_PAGE,
  'object-missing': NOT_LOADED,
  'content-host-answer': NOT_LOADED,
  'content-host-unreachable': NOT_LOADED,
  'site-unavailable': NOT_LOADED,
  'metadata-missing': NOT_LOADED,
  'metadata-expired': OUTDATED,
  'publication-expired': OUTDATED,
  'publication-withdrawn': { sentence: 'The publisher has withdrawn this site for now.' },
  'clock-off': { sentence: 'The clock of this device is wrong, so this page cannot be checked.' },
  'metadata-rollback': { sentence: 'An older version of this site was offered, so it is not shown.' },
  'object-version': { sentence: 'This page needs a newer version of the reader.' },
  'site-changed': { sentence: 'This address belongs to another publisher than before, so nothing is shown.' },
  'coding-unsupported': { sentence: 'This browser is too old for this page.' },
  'web-reader-failed': { status: 500, sentence: 'Something went wrong in this browser.' },
};

/** Of the worker's own pages; behind it stand the publisher's colours. */
const STYLE = `:root{color-scheme:light dark}body{font:18px/1.5 system-ui,sans-serif;max-width:32em;margin:0 auto;padding:1.2em;background:#fdfcf9;color:#1c1b19}
header{font:bold 1.15em Georgia,serif;padding-bottom:.6em;border-bottom:1px solid #8885}main{padding-top:8vh}
h1{font-size:1.35em;line-height:1.3}a{color:var(--accent)}.b{display:inline-block;padding:.6em 1.2em;border-radius:.4em;background:var(--accent);color:#fff;text-decoration:none}
details{margin-top:2.5em;font-size:.85em}summary{cursor:pointer}code{overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{background:#12171c;color:#e6e4df}.b{color:#12171c}}`;

/** The publisher's colours, as `--accent`. */
function coloursOf({ light, dark }: Accent): string {
  return `:root{--accent:${light}}@media(prefers-color-scheme:dark){:root{--accent:${dark}}}`;
}

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/** What is shown instead of a document. Pictures, styles and scripts get a line of text. @param target - path and query of what was asked for */
export function refusalFor(error: CodedError, request: Request, target: string, masthead: Masthead): Response {
  const { status = 502, sentence: usual, othersOpen, subscribe } = TEXTS[error.code] ?? CHANGED;
  const { reading } = scope.wisprSite;
  const sentence = reading === undefined ? usual.replace('subscription', 'invitation') : usual;
  const headers = { 'wispr-refusal': error.code };
  if (request.mode !== 'navigate')
    return new Response(`${sentence} (${error.code})\n`, {
      status,
      headers: { ...headers, ...HEADERS, 'content-type': 'text/plain; charset=utf-8' },
    });
  const others = othersOpen
    ? `<p>What you have read before still opens: <a href="${LIBRARY}">Saved pages</a>.</p>`
    : '';
  const front = target === '/' ? '' : '<p><a href="/">Back to the front page</a></p>';
  const account = subscribe && reading ? { text: 'Your account', url: reading + ACCOUNT_PAGE } : undefined;
  const renewal = subscribe && masthead.subscribe ? { text: subscribe, url: masthead.subscribe } : undefined;
  const button = renewal ?? account ?? { text: 'Try again', url: target };
  const also = renewal && account ? `<p><a href="${escapeHtml(account.url)}">${account.text}</a></p>` : '';
  const detail = `${others}${also}${front}<details><summary>For the publisher</summary><p><code>${escapeHtml(error.code)}</code> ${escapeHtml(reasonOf(error))}</p></details>`;
  return page(status, { masthead, sentence, button, detail }, headers);
}

/** Stands in front of a site that has not been confirmed for long, once in a while. */
export function noticeFor(
  freshness: Freshness,
  site: string,
  target: string,
  now: number,
  masthead: Masthead,
): Response {
  const sentence = `${site} was up to date ${ago(freshness.confirmed, now)}: there may be something newer.`;
  const headers = { 'wispr-notice': 'stale', [CONFIRMED_HEADER]: confirmedAt(freshness) };
  return page(503, { masthead, sentence, button: { text: 'Read on', url: target }, detail: '' }, headers);
}

/** Stands in front of what is kept here of a site that cannot be confirmed any more, whenever the reader comes to it. */
export function pastNoticeFor(freshness: Freshness, target: string, masthead: Masthead): Response {
  const day = new Date(freshness.confirmed * 1000).toLocaleDateString('en-GB', { day: 'numeric', month: 'long' });
  const sentence = `This is the page as of ${day}; nothing newer could be checked.`;
  const detail = `<p><a href="${LIBRARY}">Saved pages</a></p>`;
  const headers = { 'wispr-notice': 'past', [CONFIRMED_HEADER]: confirmedAt(freshness) };
  return page(503, { masthead, sentence, button: { text: 'Show it', url: target }, detail }, headers);
}

/** The page that a script of this origin fills. @param head - what loads it */
export function shellFor(title: string, head: string): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title>${head}</html>`;
  const policy =
    "default-src 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  return new Response(html, { headers: { ...HEADERS, 'content-type': HTML, 'content-security-policy': policy } });
}

const LIBRARY = '/-/library';
const HTML = 'text/html; charset=utf-8';
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

interface Page {
  readonly masthead: Masthead;
  readonly sentence: string;
  readonly button: { readonly text: string; readonly url: string };
  readonly detail: string;
}

function page(status: number, shown: Page, headers: Record<string, string>): Response {
  const { masthead, button, detail } = shown;
  const [sentence, name, target] = [shown.sentence, masthead.name, button.url].map(escapeHtml);
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${sentence}</title><style>${coloursOf(masthead.accent)}${STYLE}</style><header>${name}</header><main><h1>${sentence}</h1><p><a class="b" href="${target}">${button.text}</a></p>${detail}</main></html>`;
  return new Response(html, {
    status,
    headers: { ...headers, ...HEADERS, 'content-type': HTML, 'content-security-policy': POLICY },
  });
}
