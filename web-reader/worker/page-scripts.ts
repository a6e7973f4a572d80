/** The scripts of this origin that the worker puts into pages: one in front of the page's own, and behind those in a window the sheet's button. */
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { SAVED_AS } from '../names.ts';
import { isOpened } from './opened.ts';
import { scriptTag } from './own-scripts.ts';
import { scope } from './scope.ts';

/** Pages in codings in which the letters of a tag are what they are. */
const PAGE = /^text\/html(?!.*(?:utf-16|2022))/i;

/** @param answer - a document, as it is shown */
export function withScripts(answer: Response, request: Request, { sheet }: SiteSettings): Response {
  const { status, body } = answer;
  const { origin } = scope.location;
  if (request.mode !== 'navigate' || !body) return answer;
  const headers = new Headers(answer.headers);
  const name = new URL(request.url).searchParams.get(SAVED_AS);
  if (name !== null && request.referrer.startsWith(`${origin}/`)) {
    const named = name && `; filename*=UTF-8''${encodeURIComponent(name).replace(/['()]/g, escape)}`;
    headers.set('content-disposition', `attachment${named}`);
    headers.delete('content-security-policy'); // it is shown in no frame
    return new Response(body, { status, headers });
  }
  if (!PAGE.test(headers.get('content-type') ?? '')) return answer;
  headers.delete('content-length');
  const policy = headers.get('content-security-policy');
  if (policy) headers.set('content-security-policy', policy.split(',').map(permitFront).join());
  const isSheetWanted = sheet !== false && isOpened(request) && status === 200;
  const behind = isSheetWanted ? scriptTag('sheet', 'async') : '';
  return new Response(body.pipeThrough(adding(scriptTag('page', ''), behind)), { status, headers });
}

/** Rules for scripts, the first of which counts. */
const RULES = ['script-src-elem', 'script-src', 'default-src'].map((name) =>
  RegExp(`(?:^|;)\\s*${name}(?=[\\s;]|$)([^;]*)`, 'i'),
);

/** A signed policy under which the script in front runs, and no other that did not. The first of two rules with one name counts. */
function permitFront(policy: string): string {
  const sources = RULES.map((rule) => rule.exec(policy)?.[1]).find((found) => found !== undefined);
  const { src, integrity } = scope.wisprSite.scripts?.page ?? {};
  if (sources === undefined || !src) return policy;
  // A digest takes the effect from 'unsafe-inline', and 'strict-dynamic' that from addresses.
  const own = /'strict-dynamic'/i.test(sources) ? `'${integrity}'` : scope.location.origin + src.split('?')[0];
  return `script-src-elem ${sources.replace(/'none'/i, '')} ${own};${policy}`;
}

/** Byte order marks of UTF-16. */
const WIDE = /^(?:\xff\xfe|\xfe\xff)/;
/** Text before the first tag. A script in front of a doctype would have browsers show the page as one of last century. */
const BEGINNING = /^(?:\xef\xbb\xbf)?(?:\s|<!--(?:-?>|[\s\S]*?-->)|<[?!][^->][^>]*>)*/;

/** Adds text to a page: in front of its first tag, which is in the first piece, and behind its end. */
function adding(front: string, behind: string): TransformStream<Uint8Array, Uint8Array> {
  let isBegun = false;
  return new TransformStream({
    transform: (piece, controller) => {
      const text = isBegun ? undefined : new TextDecoder('latin1').decode(piece); // a letter for each byte
      const at = text === undefined ? undefined : BEGINNING.exec(text)?.[0].length;
      isBegun = true;
      if (text && WIDE.test(text)) [front, behind] = ['', ''];
      controller.enqueue(at === undefined ? piece : concat(piece.subarray(0, at), utf8(front), piece.subarray(at)));
    },
    flush: (controller) => controller.enqueue(utf8(behind)),
  });
}
