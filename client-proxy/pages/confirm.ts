/** The page in front of every new connection: who asks to be trusted with what. */
import { accountAt, type ConnectionRequest, connect, type Proposal } from '../connect/connection.ts';
import { ReaderError } from '../errors.ts';
import { alertOf, connectPage } from './connect.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import type { Offer, RequestedDocument } from './proposals.ts';
import {
  defineTemplate,
  type Fact,
  type FormField,
  type PageAlert,
  type PageContent,
  type PageForm,
} from './template.ts';
import { shownName } from './words.ts';

const PROOF = {
  host: 'The site itself says so, over HTTPS.',
  dns: 'DNS alone says so: the site has no such file, or no HTTPS. In a network that you do not trust, anyone could have said it.',
  'trusted-by-hand': 'Not proved: you chose on the command line to trust it.',
} as const;

const GONE: PageAlert = {
  text: 'This invitation was opened too long ago, or has been used.',
  hint: 'Paste its link once more.',
};

interface ConfirmPage extends PageContent {
  readonly sites: readonly { readonly site: string; readonly proof: string }[];
  readonly also: readonly string[];
  readonly shows: string;
  readonly keyServer: string;
  readonly form: PageForm;
  readonly facts: readonly Fact[];
}

const renderConfirm = defineTemplate<ConfirmPage>(
  'confirm',
  `<% const { sites, also, shows, keyServer, form, facts } = it.page; %>
<h2>It would be the publisher of</h2>
<ul class="sites">
<% for (const { site, proof } of sites) { %><li><p><strong><%= site %></strong><span><%= proof %></span></p></li><% } %>
</ul>
<% if (also.length > 0) { %><p class="soft">Connected already: <%= also.join(', ') %></p><% } %>
<h2>What that means</h2>
<ul>
<li>It can show you pages under <%= shows %>.</li>
<li>It can show you nothing under any other name, and does not learn what else you read.</li>
<li>Its server, <%= keyServer %>, gives this computer the keys to what you may read. It learns which issues you open, and when.</li>
<li>The computers that carry the pages learn which addresses are asked for. They learn neither keys nor content.</li>
<li>You can disconnect at any time.</li>
</ul>
<p class="soft">The publisher chose this name itself. The fingerprint under “Details” is the proof, if you know it from elsewhere.</p>
<details>
<summary>Details</summary>
<%~ include('@facts', { facts }) %>
</details>
<%~ include('@form', { form }) %>
`,
);

export async function showProposal(context: PagesContext, { part: name }: PageRequest): Promise<PageAnswer> {
  const proposal = context.proposals.get(name);
  if (proposal === undefined) return connectPage(context, { link: '', alert: GONE });
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
    if (!accepted) return connectPage(context, { link: '', alert: GONE });
    return { goTo: afterConnecting(sites, proposal?.wanted) };
  } catch (error) {
    if (proposal === undefined) throw error;
    if (error instanceof ReaderError && error.code === 'code-refused')
      return connectPage(context, { ...proposal.wanted, link: '', alert: alertOf(error) }); // room for another code
    return {
      html: renderProposal(context, name, proposal, { ...alertOf(error), way: wayOn(error, proposal) }),
      status: 422,
    };
  }
}

function wayOn(error: unknown, { request: { sites } }: Offer): PageAlert['way'] {
  const [site] = sites;
  if (!(error instanceof ReaderError && error.code === 'too-many-devices') || !site) return undefined;
  return { text: 'Your account', url: accountAt(site.reading) };
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
    title: also.length > 0 ? `More sites of ${publisher}?` : `Connect with ${publisher}?`,
    lead: isNew ? 'Nothing is connected yet.' : 'You are connected with all of its sites already.',
    place: 'connect',
    alert,
    sites: open.map(({ site, proof }) => ({ site, proof: PROOF[proof] })),
    also,
    shows: `${names.join(', ')}, and everything else under ${names.length === 1 ? 'that name' : 'these names'} is refused`,
    keyServer: new URL(request.keyServer).host,
    facts: factsOf(request, fetched.descriptor.sites),
    form: {
      action: `/connect/${name}`,
      token: context.token,
      fields: open.map(({ site }) => fieldOf(site, open.length > 1)),
      submit: 'Connect',
      cancel: 'Not now',
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
    ['Fingerprint', publisher],
    ['Its server', keyServer],
    ...sites.flatMap(({ site, reading, content }): Fact[] => [
      [`${site} in the browser`, reading],
      [`${site} is carried by`, content.join(', ')],
    ]),
  ];
}
