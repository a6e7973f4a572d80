/** The Reader's own page: the connected sites. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BoundSite } from '../bound-sites.ts';
import { ReaderError } from '../errors.ts';
import { PAGE_HEADERS, renderPage } from '../pages/template.ts';
import { EMPTY_HOME_TEXT, HOME_TEXT } from '../pages/texts.ts';

/** @throws ReaderError `host-unknown`, `method-refused` */
export function serveHome(
  sites: readonly BoundSite[],
  gatewayUrl: (site: BoundSite) => string,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (path.split('?', 1)[0] !== '/')
    throw new ReaderError('host-unknown', 'there is nothing at this address but the first page');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new ReaderError('method-refused', 'this page can only be read');
  const list = sites.map((site) => ({ site: site.site, publisher: site.publisherName, url: gatewayUrl(site) }));
  const html = renderPage(list.length === 0 ? EMPTY_HOME_TEXT : { ...HOME_TEXT, sites: list });
  response.writeHead(200, { ...PAGE_HEADERS, 'content-length': String(Buffer.byteLength(html)) });
  response.end(request.method === 'HEAD' ? undefined : html);
}
