/** The page in front of every new connection: who asks to be trusted with what. */
import { CONFIRM, FACTS, PAGE } from '../../words/en/reader.ts';
import { INVITATION_GONE } from '../../words/en/reader-refusals.ts';
import { accountAt, type ConnectionRequest, connect, type Proposal } from '../connect/connection.ts';
import { ReaderError } from '../errors.ts';
import { alertOf, connectPage } from './connect.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { shownName } from './look.ts';
import type { Offer, RequestedDocument } from './proposals.ts';
import {
  defineTemplate,
  type Fact,
  type FormField,
  type PageAlert,
  type PageContent,
  type PageForm,
} from './template.ts';

interface ConfirmPage extends PageContent {
  readonly sites: readonly { readonly site: string; readonly proof: string }[];
  readonly also: string | undefined;
  readonly means: readonly string[];
  readonly form: PageForm;
  readonly facts: readonly Fact[];
}

const renderConfirm = defineTemplate<ConfirmPage>(
  'confirm',
  `<% const { sites, also, means, form, facts } = it.page; %>
<h2>${CONFIRM.sites}</h2>
<ul class="sites">
<% for (const { site, proof } of sites) { %><li><p><strong><%= site %></strong><span><%= proof %></span></p></li><% } %>
</ul>
<% if (also) { %><p class="soft"><%= also %></p><% } %>
<h2>${CONFIRM.means}</h2>
<ul>
<% for (const line of means) { %><li><%= line %></li><% } %>
</ul>
<p class="soft">${CONFIRM.name}</p>
<details>
<summary>${PAGE.details}</summary>
<%~ include('@facts', { facts }) %>
</details>
<%~ include('@form', { form }) %>
`,
);

export async function showProposal(context: PagesContext, { part: name }: PageRequest): Promise<PageAnswer> {
  const proposal = context.proposals.get(name);
  if (proposal === undefined) return connectPage(context, { link: '', alert: INVITATION_GONE });
  return { html: renderProposal(context, name, proposal) };
}

/** The yes: connects exactly what was shown. */
export async function acceptProposal(
  context: PagesContext,
  form: URLSearchParams,
  { part: name }: PageRequest,
): Promise<PageAnswer> {
  const proposal = context.proposals.get(name);
  const sites = form.getAll('site');
  try {
    const accepted = await context.proposals.accept(name, (shown) => connect(context, shown, sites));
    if (!accepted) return connectPage(context, { link: '', alert: INVITATION_GONE });
    return { goTo: afterConnecting(sites, proposal?.wanted) };
  } catch (error) {
    if (proposal === undefined) throw error;
    if (error instanceof ReaderError && error.code === 'code-refused')
      return connectPage(context, { ...proposal.wanted, link: '', alert: alertOf(error) }); // room for another code
    const html = renderProposal(context, name, proposal, { ...alertOf(error), way: wayOn(error, proposal) });
    return { html, status: 422 };
  }
}

function wayOn(error: unknown, { request: { sites } }: Offer): PageAlert['way'] {
  const [site] = sites;
  if (!(error instanceof ReaderError && error.code === 'too-many-devices') || !site) return undefined;
  return { text: PAGE.account, url: accountAt(site.reading) };
}

/** Back to the document that the reader wanted, where its site was connected. */
function afterConnecting(sites: readonly string[], wanted?: RequestedDocument): string {
  if (wanted === undefined || !sites.includes(wanted.site)) return '/?done=connected';
  return `/connect?${new URLSearchParams({ ...wanted, done: 'connected' })}`;
}

function renderProposal(context: PagesContext, name: string, { request, fetched }: Offer, alert?: PageAlert): string {
  const publisher = shownName(request.name);
  const names = request.sites.map(({ site }) => site);
  const also = request.sites.filter(({ confirmed }) => confirmed).map(({ site }) => site);
  const open = request.sites.filter(({ confirmed }) => !confirmed);
  const isNew = open.length > 0 || also.length === 0;
  return renderConfirm({
    title: also.length > 0 ? CONFIRM.more(publisher) : CONFIRM.title(publisher),
    lead: isNew ? CONFIRM.lead : CONFIRM.none,
    place: 'connect',
    alert,
    sites: open.map(({ site, proof }) => ({ site, proof: CONFIRM.proof[proof] })),
    also: also.length > 0 ? CONFIRM.also(also.join(', ')) : undefined,
    means: CONFIRM.list(names, new URL(request.keyServer).host),
    facts: factsOf(request, fetched.descriptor.sites),
    form: {
      action: `/connect/${name}`,
      token: context.token,
      fields: open.map(({ site }) => fieldOf(site, open.length > 1)),
      submit: CONFIRM.submit,
      cancel: CONFIRM.cancel,
    },
  });
}

function fieldOf(site: string, choice: boolean): FormField {
  return choice
    ? { kind: 'check', name: 'site', value: site, label: site, checked: true }
    : { kind: 'hidden', name: 'site', value: site };
}

function factsOf(
  { publisher, keyServer }: ConnectionRequest,
  sites: Proposal['fetched']['descriptor']['sites'],
): Fact[] {
  return [
    [FACTS.fingerprint, publisher],
    [FACTS.server, keyServer],
    ...sites.flatMap(({ site, reading, content }): Fact[] => [
      [FACTS.inBrowser(site), reading],
      [FACTS.carriedBy(site), content.join(', ')],
    ]),
  ];
}
