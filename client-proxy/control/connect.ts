/** Connecting with a publisher in the browser, by the same engine as `wispr bind`: the link, who is behind it, the yes. */
import { CodedError } from '../../core/errors.ts';
import { normaliseCode } from '../../core/keys/binding.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import { type ConnectionRequest, connect, type Proposal, propose } from '../bind/connection.ts';
import { findKeyServer } from '../bind/find-key-server.ts';
import { type InvitationLink, parseInvitationLink } from '../bind/link.ts';
import { ReaderError } from '../errors.ts';
import { renderConfirm } from '../pages/confirm-page.ts';
import type { FormField, PageForm } from '../pages/form.ts';
import { type Fact, type PageAlert, renderPage } from '../pages/template.ts';
import { CONFIRM_TEXT, CONNECT_TEXT, doneText, HOME_TEXT, problemText } from '../pages/texts-control.ts';
import type { ControlAnswer } from './answer.ts';
import type { ControlContext } from './context.ts';
import type { Asked } from './control-pages.ts';
import type { Offer, WantedDocument } from './proposals.ts';
import { newSites } from './publisher-views.ts';
import { shownName } from './shown-name.ts';

const LINK_LENGTH = 500;
const SITE_LENGTH = 253;
/** Percent-encoded once more in a form, it still fits into what the guard reads. */
const PATH_LENGTH = 4096;

interface FormValues {
  readonly site?: string | undefined;
  /** Of the document that made the reader come here: where to go on afterwards. */
  readonly path?: string | undefined;
  readonly link?: string;
  /** The site is asked for: a code alone does not say whose it is. */
  readonly asksSite?: boolean;
}

/** The form that takes an invitation. */
export function connectForm(token: string, { site, path, link, asksSite }: FormValues = {}): PageForm {
  const fields: FormField[] = [
    {
      kind: 'text',
      name: 'link',
      label: CONNECT_TEXT.link,
      hint: CONNECT_TEXT.linkHint,
      value: link ?? '',
      required: true,
      focus: link === undefined,
      maximumLength: LINK_LENGTH,
    },
    ...(site === undefined && !asksSite ? [] : [siteField(site, asksSite === true)]),
    ...(path === undefined ? [] : [{ kind: 'hidden', name: 'path', value: path } as const]),
  ];
  return { action: '/connect', token, fields, submit: CONNECT_TEXT.look };
}

function siteField(site = '', visible: boolean): FormField {
  const { siteLabel: label, siteHint: hint } = CONNECT_TEXT;
  return visible
    ? { kind: 'text', name: 'site', label, hint, value: site, maximumLength: SITE_LENGTH }
    : { kind: 'hidden', name: 'site', value: site };
}

/** `?site=` comes from links on fallback pages, or from whoever else: it only words the page, and opens what is connected already. */
export async function showConnect(context: ControlContext, { query }: Asked): Promise<ControlAnswer> {
  const { site, path } = wantedIn(query);
  const bound = site === undefined ? undefined : context.sites.find(site);
  if (site === undefined || bound === undefined) return connectPage(context, { site, path });
  const status = query.get('done') === 'connected' ? doneText('connected') : undefined;
  const html = renderPage({
    title: status === undefined ? CONNECT_TEXT.known(site) : CONNECT_TEXT.justNow(site),
    lead: status === undefined ? CONNECT_TEXT.knownLead : undefined,
    place: 'connect',
    status,
    note: status === undefined ? CONNECT_TEXT.keptBefore : undefined,
    action: { text: HOME_TEXT.open(site), url: context.urlOf(bound.label) + (path ?? '/').slice(1) },
  });
  return { html };
}

interface Attempt extends FormValues {
  readonly alert?: PageAlert;
}

function connectPage({ token }: ControlContext, { alert, ...values }: Attempt): ControlAnswer {
  const { site } = values;
  const html = renderPage({
    title: CONNECT_TEXT.title,
    lead: site === undefined ? CONNECT_TEXT.lead : CONNECT_TEXT.leadSite(site),
    place: 'connect',
    alert,
    form: connectForm(token, values),
    advice: alert ? [] : [CONNECT_TEXT.noneHint(site)],
    adviceTitle: CONNECT_TEXT.none,
  });
  return alert ? { html, status: 422 } : { html };
}

/** Looks at an invitation. Nothing is changed, and the code is not sent. */
export async function lookAtLink(context: ControlContext, form: URLSearchParams): Promise<ControlAnswer> {
  const link = (form.get('link') ?? '').slice(0, LINK_LENGTH);
  const { site, path } = wantedIn(form);
  const wanted = site === undefined || path === undefined ? undefined : { site, path };
  try {
    return await proposeAndShow(context, await invitationIn(context, link, site), wanted);
  } catch (error) {
    const asksSite = normaliseCode(link) !== undefined;
    return connectPage(context, { site, path, link, asksSite, alert: alertOf(error) });
  }
}

/** A link; or a code alone, with the site that it is for. */
async function invitationIn(context: ControlContext, text: string, site?: string): Promise<InvitationLink> {
  const code = normaliseCode(text);
  if (code === undefined) return parseInvitationLink(text);
  if (site === undefined) throw new ReaderError('code-alone', 'a code alone does not say which key server it is for');
  const { upstream, proofs, now } = context;
  return { keyServer: await findKeyServer(upstream, site, proofs.dnsServers, now()), code };
}

/** Looks at a site that a publisher has added: row 71 of docs/attacks.md. */
export async function lookAtSite(context: ControlContext, form: URLSearchParams): Promise<ControlAnswer> {
  const { binding } = await newSiteIn(context, form);
  try {
    return await proposeAndShow(context, { keyServer: binding.descriptor.keyServer, code: undefined });
  } catch (error) {
    return connectPage(context, { link: '', alert: alertOf(error) });
  }
}

export async function declineSite(context: ControlContext, form: URLSearchParams): Promise<ControlAnswer> {
  const { binding, site } = await newSiteIn(context, form);
  context.store.preferences.decline(binding.id, site);
  return { goTo: '/?done=declined' };
}

async function newSiteIn({ store }: ControlContext, form: URLSearchParams) {
  const bindings = await store.bindings();
  const binding = bindings.find(({ id }) => String(id) === form.get('publisher'));
  const site = form.get('site') ?? '';
  if (binding === undefined || !newSites(binding).includes(site))
    throw new ReaderError('page-unknown', 'no publisher asks for this site, or not any more');
  return { binding, site };
}

async function proposeAndShow(
  context: ControlContext,
  link: InvitationLink,
  wanted?: WantedDocument,
): Promise<ControlAnswer> {
  const proposal = await propose(context, link, context.proofs);
  return { goTo: `/connect/${context.proposals.add({ ...proposal, wanted })}` };
}

export async function showProposal(context: ControlContext, { parts }: Asked): Promise<ControlAnswer> {
  const [name = ''] = parts;
  const proposal = context.proposals.get(name);
  if (proposal === undefined) return connectPage(context, { link: '', alert: CONFIRM_TEXT.gone });
  return { html: renderProposal(context, name, proposal) };
}

/** The yes: connects exactly what was shown. */
export async function acceptProposal(
  context: ControlContext,
  form: URLSearchParams,
  { parts }: Asked,
): Promise<ControlAnswer> {
  const [name = ''] = parts;
  const proposal = context.proposals.get(name);
  const sites = form.getAll('site');
  try {
    const accepted = await context.proposals.accept(name, (shown) => connect(context, shown, sites));
    if (!accepted) return connectPage(context, { link: '', alert: CONFIRM_TEXT.gone });
    return { goTo: afterConnecting(sites, proposal?.wanted) };
  } catch (error) {
    if (proposal === undefined) throw error;
    if (error instanceof ReaderError && error.code === 'code-refused')
      return connectPage(context, { ...proposal.wanted, link: '', alert: alertOf(error) }); // this code never will be good: there is room for another
    return { html: renderProposal(context, name, proposal, alertOf(error)), status: 422 };
  }
}

/** Back to the document that somebody was on the way to, where its site is among those that were connected. */
function afterConnecting(sites: readonly string[], wanted?: WantedDocument): string {
  if (wanted === undefined || !sites.includes(wanted.site)) return '/?done=connected';
  return `/connect?${new URLSearchParams({ ...wanted, done: 'connected' })}`;
}

function renderProposal(context: ControlContext, name: string, { request, fetched }: Offer, alert?: PageAlert): string {
  const publisher = shownName(request.name);
  const also = request.sites.filter(({ confirmed }) => confirmed).map(({ site }) => site);
  const open = request.sites.filter(({ confirmed }) => !confirmed);
  return renderConfirm({
    title: (also.length > 0 ? CONFIRM_TEXT.titleMore : CONFIRM_TEXT.title)(publisher),
    lead: open.length > 0 || also.length === 0 ? CONFIRM_TEXT.lead : CONFIRM_TEXT.nothingNew,
    place: 'connect',
    alert,
    sites: open.map(({ site, proof }) => ({ site, proof: CONFIRM_TEXT.proof[proof] })),
    also,
    meaning: meaningOf(request),
    facts: factsOf(request, fetched.descriptor.sites),
    form: {
      action: `/connect/${name}`,
      token: context.token,
      fields: open.map(({ site }) => fieldOf(site, open.length > 1)),
      submit: CONFIRM_TEXT.submit,
      cancel: { text: CONFIRM_TEXT.cancel, url: '/' },
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
    CONFIRM_TEXT.shows(sites.map(({ site }) => site)),
    CONFIRM_TEXT.nothingElse,
    CONFIRM_TEXT.keyServer(new URL(keyServer).host),
    CONFIRM_TEXT.carriers,
    CONFIRM_TEXT.back,
  ];
}

function factsOf(
  { publisher, keyServer }: ConnectionRequest,
  sites: Proposal['fetched']['descriptor']['sites'],
): Fact[] {
  const { facts } = CONFIRM_TEXT;
  return [
    [facts.fingerprint, publisher],
    [facts.keyServer, keyServer],
    ...sites.flatMap(({ site, reading, content }): Fact[] => [
      [facts.reading(site), reading],
      [facts.content(site), content.join(', ')],
    ]),
  ];
}

/** From a link or a form, so it may be anything: what is left is a site, and a path within it that may have a query. */
function wantedIn(values: URLSearchParams): FormValues {
  const site = (values.get('site') ?? '').toLowerCase();
  const path = values.get('path') ?? '';
  const isPath = path.length <= PATH_LENGTH && documentPathOf(path) !== undefined;
  return { site: isSite(site) ? site : undefined, path: isPath ? path : undefined };
}

/** @throws what nobody foresaw */
function alertOf(error: unknown): PageAlert {
  if (!(error instanceof CodedError)) throw error;
  return { ...problemText(error.code), code: error.code, detail: error.message };
}
