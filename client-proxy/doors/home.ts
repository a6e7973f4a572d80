/** The Reader's own page: the connected sites, and how their publications are. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ago } from '../../core/reading/confirmation.ts';
import type { PublicationStatus } from '../../node-support/publication/publication-keeper.ts';
import type { BoundSite } from '../bound-sites.ts';
import { ReaderError } from '../errors.ts';
import { type ListedSite, PAGE_HEADERS, renderPage } from '../pages/template.ts';
import { EMPTY_HOME_TEXT, HOME_TEXT, refusalText } from '../pages/texts.ts';

export interface Home {
  readonly sites: readonly BoundSite[];
  /** Where a browser opens a site. */
  readonly urlOf: (site: BoundSite) => string;
  /** Seconds since 1970. */
  readonly now: number;
}

/** @throws ReaderError `host-unknown`, `method-refused` */
export async function serveHome(
  home: Home,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (path.split('?', 1)[0] !== '/')
    throw new ReaderError('host-unknown', 'there is nothing at this address but the first page');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new ReaderError('method-refused', 'this page can only be read');
  const sites = await Promise.all(home.sites.map((site) => listed(site, home)));
  const html = renderPage(sites.length === 0 ? EMPTY_HOME_TEXT : { ...HOME_TEXT, sites });
  response.writeHead(200, { ...PAGE_HEADERS, 'content-length': String(Buffer.byteLength(html)) });
  response.end(request.method === 'HEAD' ? undefined : html);
}

async function listed(bound: BoundSite, { urlOf, now }: Home): Promise<ListedSite> {
  const state = inWords(await bound.publication.status(), now);
  return { site: bound.site, publisher: bound.publisherName, url: urlOf(bound), state };
}

function inWords(status: PublicationStatus, now: number): string {
  switch (status.kind) {
    case 'unread':
      return 'not read yet';
    case 'refused':
      return `not shown: ${refusalText(status.code).title}`;
    case 'current':
    case 'stale': {
      const word = status.kind === 'stale' ? ', not confirmed in time' : '';
      return `publication ${status.version}, last checked ${ago(status.confirmed, now)}${word}`;
    }
  }
}
