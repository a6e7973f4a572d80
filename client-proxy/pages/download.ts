/** Page in front of a file that another site led to: a download's window stays its opener's, and would tell what is connected. */
import type { ServerResponse } from 'node:http';
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import { DOWNLOAD } from '../../words/en/reader.ts';
import { VIA } from '../network/answer-fields.ts';
import { PAGE_HEADERS, renderPage } from './template.ts';

export interface Download {
  readonly site: string;
  readonly target: string;
  readonly confirmed: string;
}

/** Answers with an error: a program that takes it for the document would be wrong. */
export function sendDownloadPage(response: ServerResponse, { site, target, confirmed }: Download): void {
  const action = { text: DOWNLOAD.button, url: target };
  const html = renderPage({ title: DOWNLOAD.title(site), lead: DOWNLOAD.lead, action });
  response.writeHead(403, {
    ...PAGE_HEADERS,
    'content-length': String(Buffer.byteLength(html)),
    'wispr-notice': 'download',
    via: VIA,
    [CONFIRMED_HEADER]: confirmed,
  });
  response.end(html);
}
