/** What a handler of the Reader's own pages answers, and how it is sent. */
import type { ServerResponse } from 'node:http';
import { CONTROL_HEADERS } from '../pages/template.ts';

export type ControlAnswer =
  | { readonly html: string; readonly status?: number }
  /** For programs. */
  | { readonly text: string }
  /** After a change: the page to go on with, by GET, so that a reload does nothing twice. A path of these pages. */
  | { readonly goTo: string };

export function sendAnswer(response: ServerResponse, answer: ControlAnswer, withBody: boolean): void {
  if ('goTo' in answer) {
    response.writeHead(303, { ...CONTROL_HEADERS, location: answer.goTo, 'content-length': '0' }).end();
    return;
  }
  const { body, status, type } = 'text' in answer ? asText(answer.text) : asPage(answer.html, answer.status);
  const fields = { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...CONTROL_HEADERS, ...fields });
  response.end(withBody ? body : undefined);
}

function asText(text: string) {
  return { body: `${text}\n`, status: 200, type: 'text/plain; charset=utf-8' };
}

function asPage(html: string, status = 200) {
  return { body: html, status, type: CONTROL_HEADERS['content-type'] };
}
