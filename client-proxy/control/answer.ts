/** What a handler of the Reader's own pages answers, and how it is sent. */
import type { ServerResponse } from 'node:http';
import { CONTROL_HEADERS } from '../pages/template.ts';

export type ControlAnswer =
  | { readonly html: string; readonly status?: number }
  /** After a change: the page to go on with, by GET, so that a reload does nothing twice. A path of these pages. */
  | { readonly goTo: string };

export function sendAnswer(response: ServerResponse, answer: ControlAnswer, withBody: boolean): void {
  if ('goTo' in answer) {
    response.writeHead(303, { ...CONTROL_HEADERS, location: answer.goTo, 'content-length': '0' }).end();
    return;
  }
  const { html, status = 200 } = answer;
  response.writeHead(status, { ...CONTROL_HEADERS, 'content-length': String(Buffer.byteLength(html)) });
  response.end(withBody ? html : undefined);
}
