/** The worker's own pages, in place of a document: one sentence, one button, and for the publisher the code. They need nothing from anywhere. */
import { type CodedError, reasonOf } from '../../core/errors.ts';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { scope } from './scope.ts';

interface Text {
  /** Default: 502. */
  readonly status?: number;
  readonly sentence: string;
}

const CHANGED: Text = { sentence: 'This page was changed on its way to you, so it is not shown.' };
const NOT_LOADED: Text = { sentence: 'This page could not be loaded: check your connection.' };
const OUTDATED: Text = { sentence: 'This site has not been confirmed for too long, so it is not shown.' };
const NO_PAGE: Text = { status: 404, sentence: 'There is no such page.' };

/** By code. What is not here has failed a check. */
const TEXTS: Readonly<Record<string, Text>> = {
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

const STYLE = `:root{color-scheme:light dark}body{font:18px/1.5 system-ui,sans-serif;max-width:32em;margin:18vh auto;padding:0 1.2em}
h1{font-size:1.35em;line-height:1.3}a{display:inline-block;padding:.6em 1.2em;border-radius:.4em;background:#14507a;color:#fff;text-decoration:none}
details{margin-top:2.5em;font-size:.85em}summary{cursor:pointer}code{overflow-wrap:anywhere}`;

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/** What is shown instead of a document. Pictures, styles and scripts get a line of text. @param target - path and query of what was asked for */
export function refusalFor(error: CodedError, request: Request, target: string): Response {
  const { status = 502, sentence: usual } = TEXTS[error.code] ?? CHANGED;
  const sentence = scope.wisprSite.publication === undefined ? usual.replace('subscription', 'invitation') : usual;
  const headers = { 'wispr-refusal': error.code };
  if (request.mode !== 'navigate')
    return new Response(`${sentence} (${error.code})\n`, {
      status,
      headers: { ...headers, ...HEADERS, 'content-type': 'text/plain; charset=utf-8' },
    });
  const detail = `<details><summary>For the publisher</summary><p><code>${escaped(error.code)}</code> ${escaped(reasonOf(error))}</p></details>`;
  return page(status, { sentence, button: 'Try again', target, detail }, headers);
}

/** Stands in front of a site that has not been confirmed for long, once in a while. */
export function noticeFor(freshness: Freshness, site: string, target: string, now: number): Response {
  const sentence = `${site} was last confirmed ${ago(freshness.confirmed, now)}: there may be something newer.`;
  const headers = { 'wispr-notice': 'stale', [CONFIRMED_HEADER]: confirmedAt(freshness) };
  return page(503, { sentence, button: 'Read on', target, detail: '' }, headers);
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

function page(
  status: number,
  { sentence, button, target, detail }: Record<'sentence' | 'button' | 'target' | 'detail', string>,
  headers: Record<string, string>,
): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escaped(sentence)}</title><style>${STYLE}</style><main><h1>${escaped(sentence)}</h1><p><a href="${escaped(target)}">${button}</a></p>${detail}</main></html>`;
  return new Response(html, {
    status,
    headers: { ...headers, ...HEADERS, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
  });
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
