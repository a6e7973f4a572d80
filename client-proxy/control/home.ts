/** The Reader's first page: the connected sites, and how their publications are. */
import { ago } from '../../core/reading/confirmation.ts';
import type { PublicationStatus } from '../../node-support/publication/publication-keeper.ts';
import type { BoundSite, BoundSites } from '../bound-sites.ts';
import { type ListedSite, renderHome } from '../pages/home-page.ts';
import { refusalText } from '../pages/texts.ts';
import type { ControlAnswer } from './answer.ts';

export interface HomeOptions {
  readonly sites: BoundSites;
  /** Where a browser opens a site. */
  readonly urlOf: (label: string) => string;
  /** Seconds since 1970. */
  readonly now: () => number;
}

export async function showHome(options: HomeOptions): Promise<ControlAnswer> {
  const sites = await Promise.all(options.sites.all().map((site) => listed(site, options)));
  return { html: renderHome(sites) };
}

async function listed(bound: BoundSite, { urlOf, now }: HomeOptions): Promise<ListedSite> {
  const state = inWords(await bound.publication.status(), now());
  return { site: bound.site, publisher: bound.publisherName, url: urlOf(bound.label), state };
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
