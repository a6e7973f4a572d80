/** Who asks to be trusted with what, as HTML: the page in front of every new connection. */
import type { PageForm } from './form.ts';
import { defineTemplate, type Fact, type Page } from './template.ts';
import { CONFIRM_TEXT } from './texts-control.ts';

export interface ConfirmPage extends Page {
  readonly sites: readonly { readonly site: string; readonly proof: string }[];
  /** Connected before. */
  readonly also: readonly string[];
  /** What agreeing means, a sentence each. */
  readonly meaning: readonly string[];
  readonly form: PageForm;
  readonly facts: readonly Fact[];
}

const CONFIRM = `<% const { sites, also, meaning, form, facts } = it.page; const text = it.words; %>
<h2><%= text.sites %></h2>
<ul class="sites">
<% for (const { site, proof } of sites) { %><li><p><strong><%= site %></strong><span><%= proof %></span></p></li><% } %>
</ul>
<% if (also.length > 0) { %><p class="soft"><%= text.also %>: <%= also.join(', ') %></p><% } %>
<h2><%= text.agree %></h2>
<ul>
<% for (const line of meaning) { %><li><%= line %></li><% } %>
</ul>
<p class="soft"><%= text.name %></p>
<details>
<summary><%= it.text.details %></summary>
<%~ include('@facts', { facts }) %>
</details>
<%~ include('@form', { form, text: it.text }) %>
`;

export const renderConfirm = defineTemplate<ConfirmPage>('confirm', CONFIRM, CONFIRM_TEXT);
