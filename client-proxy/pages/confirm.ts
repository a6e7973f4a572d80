/** The page in front of every new connection: who asks to be trusted with what. */
import { type ConnectionRequest, connect, type Proposal } from '../connect/connection.ts';
import { ReaderError } from '../errors.ts';
import { alertOf, connectPage } from './connect.ts';
import type { Asked, PageAnswer, PagesContext } from './context.ts';
import type { Offer, WantedDocument } from './proposals.ts';
import { defineTemplate, type Fact, type FormField, type Page, type PageAlert, type PageForm } from './template.ts';
import { shownName } from './words.ts';

const TEXT = {
  title: (name: string) => `Connect with ${name}?`,
  titleMore: (name: string) => `More sites of ${name}?`,
  lead: 'Nothing is connected yet.',
  sites: 'It would be the publisher of',
  proof: {
    host: 'The site itself says so, over HTTPS.',
    dns: 'DNS alone says so: the site has no such file, or no HTTPS. In a network that you do not trust, anyone could have said it.',
    'trusted-by-hand': 'Not proved: you chose on the command line to trust it.',
  },
  also: 'Connected already',
  agree: 'What that means',
  shows: (sites: readonly string[]) =>
    sites.length === 1
      ? `It can show you pages under ${sites[0]}, and everything else under that name is refused.`
      : `It can show you pages under ${sites.join(', ')}, and everything else under these names is refused.`,
  nothingElse: 'It can show you nothing under any other name, and does not learn what else you read.',
  keyServer: (host: string) =>
    `Its key server, ${host}, gives this computer the keys to what you may read. It learns which sets of pages you open, and when.`,
  carriers:
    'The computers that carry the pages learn which addresses are asked for. They learn neither keys nor content.',
  back: 'You can disconnect at any time.',
  name: 'The publisher chose this name itself. Everything else here was checked against its signed publication, whose fingerprint is under “Details”.',
  facts: {
    fingerprint: 'Fingerprint',
    keyServer: 'Key server',
    reading: (site: string) => `${site} in the browser`,
    content: (site: string) => `${site} is carried by`,
  },
  submit: 'Connect',
  cancel: 'Not now',
  nothingNew: 'You are connected with all of its sites already.',
  gone: {
    text: 'This invitation was opened too long ago, or has been used.',
    hint: 'Paste its link once more.',
  },
} as const;

interface ConfirmPage extends Page {
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

const renderConfirm = defineTemplate<ConfirmPage>('confirm', CONFIRM, TEXT);

export async function showProposal(context: PagesContext, { part: name }: Asked): Promise<PageAnswer> {
  const proposal = context.proposals.get(name);
  if (proposal === undefined) return connectPage(context, { link: '', alert: TEXT.gone });
  return { html: renderProposal(context, name, proposal) };
}

/** The yes: connects exactly what was shown. */
export async function acceptProposal(
  context: PagesContext,
  form: URLSearchParams,
  { part: name }: Asked,
): Promise<PageAnswer> {
  const proposal = context.proposals.get(name);
  const sites = form.getAll('site');
  try {
    const accepted = await context.proposals.accept(name, (shown) => connect(context, shown, sites));
    if (!accepted) return connectPage(context, { link: '', alert: TEXT.gone });
    return { goTo: afterConnecting(sites, proposal?.wanted) };
  } catch (error) {
    if (proposal === undefined) throw error;
    if (error instanceof ReaderError && error.code === 'code-refused')
      return connectPage(context, { ...proposal.wanted, link: '', alert: alertOf(error) }); // room for another code
    return { html: renderProposal(context, name, proposal, alertOf(error)), status: 422 };
  }
}

/** Back to the document that the reader wanted, where its site was connected. */
function afterConnecting(sites: readonly string[], wanted?: WantedDocument): string {
  if (wanted === undefined || !sites.includes(wanted.site)) return '/?done=connected';
  return `/connect?${new URLSearchParams({ ...wanted, done: 'connected' })}`;
}

function renderProposal(context: PagesContext, name: string, { request, fetched }: Offer, alert?: PageAlert): string {
  const publisher = shownName(request.name);
  const also = request.sites.filter(({ confirmed }) => confirmed).map(({ site }) => site);
  const open = request.sites.filter(({ confirmed }) => !confirmed);
  return renderConfirm({
    title: (also.length > 0 ? TEXT.titleMore : TEXT.title)(publisher),
    lead: open.length > 0 || also.length === 0 ? TEXT.lead : TEXT.nothingNew,
    place: 'connect',
    alert,
    sites: open.map(({ site, proof }) => ({ site, proof: TEXT.proof[proof] })),
    also,
    meaning: meaningOf(request),
    facts: factsOf(request, fetched.descriptor.sites),
    form: {
      action: `/connect/${name}`,
      token: context.token,
      fields: open.map(({ site }) => fieldOf(site, open.length > 1)),
      submit: TEXT.submit,
      cancel: { text: TEXT.cancel, url: '/' },
    },
  });
}

/** One site needs no choice: the button is the yes. */
function fieldOf(site: string, choice: boolean): FormField {
  return choice
    ? { kind: 'check', name: 'site', value: site, label: site, checked: true }
    : { kind: 'hidden', name: 'site', value: site };
}

function meaningOf({ sites, keyServer }: ConnectionRequest): string[] {
  return [
    TEXT.shows(sites.map(({ site }) => site)),
    TEXT.nothingElse,
    TEXT.keyServer(new URL(keyServer).host),
    TEXT.carriers,
    TEXT.back,
  ];
}

function factsOf(
  { publisher, keyServer }: ConnectionRequest,
  sites: Proposal['fetched']['descriptor']['sites'],
): Fact[] {
  const { facts } = TEXT;
  return [
    [facts.fingerprint, publisher],
    [facts.keyServer, keyServer],
    ...sites.flatMap(({ site, reading, content }): Fact[] => [
      [facts.reading(site), reading],
      [facts.content(site), content.join(', ')],
    ]),
  ];
}
