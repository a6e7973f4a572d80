/** The scripts of this origin that the worker puts into pages: one in front of the page's own, and behind those in a window the sheet's button. */
import { concat, utf8 } from '../../core/encoding/bytes.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { isOpened } from './opened.ts';
import { scriptTag } from './own-scripts.ts';
import { scope } from './scope.ts';

const PAGE = /^(?:text\/html|application\/xhtml\+xml)\b(?!.*utf-16)/i;
/** In other codings the letters of what stands behind would be others. */
const HTML = /^text\/html\s*(?:;\s*charset="?(?:utf-8|us-ascii|iso-8859-\d+|windows-125\d)"?\s*)?$/i;

/** @param answer - a document, as it is shown */
export function withSheet(answer: Response, request: Request, { sheet }: SiteSettings): Response {
  const { status, body } = answer;
  const type = answer.headers.get('content-type') ?? '';
  const front = scriptTag('page', '');
  if (request.mode !== 'navigate' || ![200, 404].includes(status) || body === null) return answer;
  if (front === '' || !PAGE.test(type)) return answer;
  const headers = new Headers(answer.headers);
  headers.delete('content-length');
  const policy = headers.get('content-security-policy');
  if (policy) headers.set('content-security-policy', permitFront(policy));
  const isSheetWanted = sheet !== false && isOpened(request) && status === 200 && HTML.test(type);
  return new Response(body.pipeThrough(adding(front, isSheetWanted ? scriptTag('sheet', 'async') : '')), {
    status,
    headers,
  });
}

/** A signed policy, or several, under which the one script in front runs, and no other that did not. */
function permitFront(policies: string): string {
  const { src = '', integrity = '' } = scope.wisprSite.scripts?.page ?? {};
  const address = `${scope.location.origin}${src.split('?')[0]}`;
  const has = (sources: readonly string[], form: RegExp) => sources.some((each) => form.test(each));
  const permit = (policy: string) => {
    const directives = policy.split(';').map((each) => each.trim().split(/\s+/));
    const find = (name: string) => directives.find(([first]) => first?.toLowerCase() === name);
    const ruling = find('script-src-elem') ?? find('script-src') ?? find('default-src');
    if (!ruling) return policy;
    const sources = ruling.slice(1).filter((source) => source.toLowerCase() !== "'none'");
    const rest = directives.filter(([first]) => first?.toLowerCase() !== 'script-src-elem');
    // Scripts in the page run by 'unsafe-inline', which a digest would end where nothing does so yet.
    const isInline = has(sources, /^'unsafe-inline'$/i) && !has(sources, /^'(?:nonce-|sha\d|strict-dynamic)/i);
    const own = isInline ? [address] : [address, `'${integrity}'`];
    return [...rest, ['script-src-elem', ...sources, ...own]].map((each) => each.join(' ')).join('; ');
  };
  return policies.split(',').map(permit).join(',');
}

const ATTRIBUTES = `(?:\\s(?:[^>"']|"[^"]*"|'[^']*')*)?`;
/** A page up to where its head begins: a script in front of the doctype would have browsers show it as one of last century. */
const BEGINNING = new RegExp(
  `^(?:\\xef\\xbb\\xbf)?(?:\\s|<!--(?:-?>|[^]*?-->)|<[?!][^->][^>]*>|<html${ATTRIBUTES}>)*(?:<head${ATTRIBUTES}>)?`,
  'i',
);
/** Bytes that are waited for, and as many where the beginning is longer. */
const SHORTEST = 1024;
const LONGEST = 65_536;

/** Adds text to a page: where its head begins, and behind its end. */
function adding(front: string, behind: string): TransformStream<Uint8Array, Uint8Array> {
  let held: Uint8Array | undefined = new Uint8Array();
  const release = (controller: TransformStreamDefaultController<Uint8Array>, isEnd: boolean) => {
    if (!held) return;
    const text = new TextDecoder('latin1').decode(held); // a letter for each byte
    const at = BEGINNING.exec(text)?.[0].length ?? 0;
    const isUnsure = text.length < SHORTEST || /^(?:<!|<[^>]*$|$)/.test(text.slice(at));
    if (!isEnd && isUnsure && text.length < LONGEST) return;
    for (const part of [held.subarray(0, at), utf8(front), held.subarray(at)]) controller.enqueue(part);
    held = undefined;
  };
  return new TransformStream({
    transform: (piece, controller) => {
      if (!held) return controller.enqueue(piece);
      held = concat(held, piece);
      release(controller, false);
    },
    flush: (controller) => {
      release(controller, true);
      controller.enqueue(utf8(behind));
    },
  });
}
