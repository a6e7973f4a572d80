/**
 * The page in front of a file that another site led to. A window whose page becomes a download stays its opener's, and would tell that a site is
 * connected; this page is like those of sites that are not.
 */
import type { ServerResponse } from 'node:http';
import { CONFIRMED_HEADER } from '../../reading/confirmation.ts';
import { VIA } from '../network/answer-fields.ts';
import { PAGE_HEADERS, renderPage } from './template.ts';

export interface Download {
  readonly site: string;
  readonly target: string;
  readonly confirmed: string;
}

/** Not 200: a program that takes it for the document would be wrong. */
export function sendDownloadPage(response: ServerResponse, { site, target, confirmed }: Download): void {
  const html = renderPage({
    title: `A file of ${site}`,
    lead: 'Another page led here. So that it cannot find out which sites you read, the file is fetched when you click.',
    action: { text: 'Fetch the file', url: target },
  });
  response.writeHead(403, {
    ...PAGE_HEADERS,
    'content-length': String(Buffer.byteLength(html)),
    'wispr-notice': 'download',
    via: VIA,
    [CONFIRMED_HEADER]: confirmed,
  });
  response.end(html);
}
