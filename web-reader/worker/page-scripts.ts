/** The scripts of this origin that the worker puts into pages: one in front of the page's own, and behind those in a window the sheet's button. */
import type { SiteSettings } from '../../core/publication/settings.ts';
import { PageEnds, permitScript, takesScripts } from '../../reading/page-scripts.ts';
import { SAVED_AS } from '../names.ts';
import { isOpened } from './opened.ts';
import { scriptTag } from './own-scripts.ts';
import { scope } from './scope.ts';

/** @param answer - a document, as it is shown */
export function withScripts(answer: Response, request: Request, { sheet }: SiteSettings): Response {
  const { status, body } = answer;
  const { origin } = scope.location;
  // Answers of a server have an address: they are not of this worker's making.
  if (request.mode !== 'navigate' || !body || answer.url) return answer;
  const headers = new Headers(answer.headers);
  const name = new URL(request.url).searchParams.get(SAVED_AS);
  if (name !== null && request.referrer.startsWith(`${origin}/`)) {
    const named = name && `; filename*=UTF-8''${encodeURIComponent(name).replace(/['()]/g, escape)}`;
    headers.set('content-disposition', `attachment${named}`);
    headers.delete('content-security-policy'); // needed in no frame, for it is saved
    return new Response(body, { status, headers });
  }
  if (!takesScripts(headers.get('content-type') ?? undefined)) return answer;
  headers.delete('content-length');
  const policy = headers.get('content-security-policy');
  const { src = '', integrity = '' } = scope.wisprSite.scripts?.page ?? {};
  if (policy && src)
    headers.set(
      'content-security-policy',
      permitScript(policy, origin + src.split('?')[0], integrity, scope.wisprSite.reading),
    );
  const isSheetWanted = sheet !== false && isOpened(request) && status === 200;
  const ends = new PageEnds(scriptTag('page', ''), isSheetWanted ? scriptTag('sheet', 'async') : '');
  const adding = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => controller.enqueue(ends.add(piece)),
    flush: (controller) => controller.enqueue(ends.end()),
  });
  return new Response(body.pipeThrough(adding), { status, headers });
}
