/** The worker's own pages, in place of a document. They need nothing from anywhere. */

import { type CodedError, reasonOf } from '../../core/errors.ts';
import { ACCOUNT_PAGE } from '../../core/site/path.ts';
import { NO_PASSKEYS } from '../../reading/document-headers.ts';
import { initialIcon } from '../../reading/icon.ts';
import { buttonOf, type RefusalLook, type RefusalPage, refusalPage, refusalStyle } from '../../reading/refusal-page.ts';
import { DAMAGED, FOREIGN, NOT_LOADED, OFFLINE, type Refusal, refusalOf, withAnswers } from '../../reading/refusals.ts';
import { refused, savedPages } from '../../words/en/browser.ts';
import { LANGUAGE } from '../../words/en/language.ts';
import { LIBRARY } from '../names.ts';
import { scope } from './scope.ts';

/** Texts of the worker alone. */
const TEXTS: Readonly<Record<string, Refusal | undefined>> = {
  'site-unavailable': NOT_LOADED,
  'site-changed': FOREIGN,
  ...withAnswers(refused, { 'web-reader-failed': { status: 500 } }),
};

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/** Makes what is shown instead of a document. What pages load gets no body: a script that looks at no status would take it for data. @param target - path and query of what was asked for */
export function refusalFor(error: CodedError, request: Request, target: string, look: RefusalLook): Response {
  const known = refusalOf(error) ?? TEXTS[error.code] ?? DAMAGED;
  const refusal = known === NOT_LOADED && !navigator.onLine ? OFFLINE : known;
  const { status = 502, title, way } = refusal;
  const headers = { 'wispr-refusal': error.code };
  if (request.mode !== 'navigate')
    return new Response(null, { status, statusText: `${title} (${error.code})`, headers: { ...headers, ...HEADERS } });
  const { reading } = scope.wisprSite;
  const account = reading && reading + ACCOUNT_PAGE;
  const front = target === '/' ? undefined : '/';
  const button = buttonOf(way, { again: target, front, subscribe: look.subscribe, account });
  const links = [{ text: savedPages, url: LIBRARY }];
  return pageFor({ ...refusal, button, links, facts: [error.code, reasonOf(error)] }, look, headers);
}

/** A page in place of a document. */
export function pageFor(page: RefusalPage, look: RefusalLook, headers: Record<string, string>): Response {
  return new Response(
    refusalPage(
      page,
      look,
      `<style>${refusalStyle(look.accent)}</style><link rel="icon" href="${initialIcon(look.name, look.accent)}">`,
    ),
    {
      status: page.status ?? 502,
      headers: { ...headers, ...HEADERS, 'content-type': HTML, 'content-security-policy': POLICY },
    },
  );
}

/** The page that a script of this origin fills. @param head - what loads it */
export function shellFor(title: string, head: string): Response {
  const html = `<!doctype html><html lang="${LANGUAGE.lang}" dir="${LANGUAGE.dir}"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title>${head}</html>`;
  const policy =
    "default-src 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  return new Response(html, { headers: { ...HEADERS, 'content-type': HTML, 'content-security-policy': policy } });
}

const HTML = 'text/html; charset=utf-8';
/** Header fields of all answers that the worker makes itself. */
export const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-embedder-policy': 'require-corp', // frames of isolated pages show no page without it
  'x-content-type-options': 'nosniff',
  'permissions-policy': NO_PASSKEYS,
};
