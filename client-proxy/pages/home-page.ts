/** The Reader's first page, as HTML. */
import { defineTemplate, type Page, renderPage } from './template.ts';
import { EMPTY_HOME_TEXT, HOME_TEXT } from './texts.ts';

export interface ListedSite {
  readonly site: string;
  readonly publisher: string;
  readonly url: string;
  /** How its publication is, in a few words. */
  readonly state: string;
}

interface HomePage extends Page {
  readonly sites: readonly ListedSite[];
}

const render = defineTemplate<HomePage>(
  'home',
  `<ul class="sites">
<% for (const site of it.page.sites) { %>
<li><a href="<%= site.url %>"><strong><%= site.site %></strong><span><%= site.publisher %></span><span><%= site.state %></span></a></li>
<% } %>
</ul>`,
);

export function renderHome(sites: readonly ListedSite[]): string {
  return sites.length === 0
    ? renderPage({ ...EMPTY_HOME_TEXT, place: 'home' })
    : render({ ...HOME_TEXT, sites, place: 'home' });
}
