/** The button that the worker puts behind pages that are opened in a window: a script of this origin. The page's own policy may block it. */
import { utf8 } from '../../core/encoding/bytes.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { isOpened } from './opened.ts';
import { scriptTag } from './own-scripts.ts';

/** In other codings its letters would be others. */
const HTML = /^text\/html\s*(?:;\s*charset="?(?:utf-8|us-ascii|iso-8859-\d+|windows-125\d)"?\s*)?$/i;

/** @param answer - a document, as it is shown */
export function withSheet(answer: Response, request: Request, { sheet }: SiteSettings): Response {
  const { status, body } = answer;
  const tag = scriptTag('sheet', 'async');
  if (sheet === false || !isOpened(request) || status !== 200 || body === null || tag === '') return answer;
  if (!HTML.test(answer.headers.get('content-type') ?? '')) return answer;
  const headers = new Headers(answer.headers);
  headers.delete('content-length');
  const appending = new TransformStream({ flush: (controller) => controller.enqueue(utf8(tag)) });
  return new Response(body.pipeThrough(appending), { status, headers });
}
