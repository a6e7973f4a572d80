/** Connecting with a publisher in the browser, by the same code as `wispr bind`: first the link of the invitation; then confirm.ts. */
import { documentPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import { CONNECT, KEPT_BEFORE } from '../../words/en/reader.ts';
import { NOT_CONNECTED } from '../../words/en/reader-refusals.ts';
import { propose } from '../connect/connection.ts';
import { isCodeAlone, readInvitation } from '../connect/invitation.ts';
import { type InvitationLink, parseInvitationLink } from '../connect/link.ts';
import { ReaderError } from '../errors.ts';
import { type PageAnswer, type PageRequest, type PagesContext, usesProxy } from './context.ts';
import type { RequestedDocument } from './proposals.ts';
import { newSites } from './publishers.ts';
import { doneText, type FormField, type PageAlert, type PageForm, renderPage } from './template.ts';
import { alertFor } from './texts.ts';

/** Characters of a link; that of a mail names the document that is wanted. */
const LINK_LENGTH = 4096;
const SITE_LENGTH = 253;
/** Percent-encoded once more in a form, it still fits into what the guard reads. */
const PATH_LENGTH = 4096;

/** Describes a failed attempt to connect. @throws errors without a code */
export function alertOf(error: unknown): PageAlert {
  return alertFor(error, NOT_CONNECTED);
}

interface FormValues {
  readonly site?: string | undefined;
  /** Path of the document that made the reader come here: the way goes on there. */
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
      label: CONNECT.link,
      hint: CONNECT.linkHint,
      value: link ?? '',
      required: true,
      focus: link === undefined,
      maximumLength: LINK_LENGTH,
    },
  ];
  if (asksSite)
    fields.push({
      kind: 'text',
      name: 'site',
      label: CONNECT.site,
      hint: CONNECT.siteHint,
      value: site,
      maximumLength: SITE_LENGTH,
    });
  else if (site !== undefined) fields.push({ kind: 'hidden', name: 'site', value: site });
  if (path !== undefined) fields.push({ kind: 'hidden', name: 'path', value: path });
  return { action: '/connect', token, fields, submit: CONNECT.submit };
}

/** `?site=` comes from links on fallback pages, or from any page: it only words the page, and opens what is connected already. */
export async function showConnect(context: PagesContext, asked: PageRequest): Promise<PageAnswer> {
  const { query } = asked;
  const { site, path } = wantedIn(query);
  const bound = site === undefined ? undefined : context.sites.find(site);
  if (site === undefined || bound === undefined) return connectPage(context, { site, path });
  const isNew = query.get('done') === 'connected';
  const html = renderPage({
    title: isNew ? CONNECT.connected(site) : CONNECT.already(site),
    lead: isNew ? undefined : CONNECT.alreadyLead,
    place: 'connect',
    status: isNew ? doneText('connected', usesProxy(context, asked)) : undefined,
    note: !isNew && usesProxy(context, asked) ? KEPT_BEFORE : undefined,
    action: { text: CONNECT.open(site), url: context.urlOf(bound.label) + (path ?? '/').slice(1) },
  });
  return { html };
}

/** An invitation from a page of another site is filled in. Until the person goes on, no server it names is asked. */
export function showInvitation(context: PagesContext, form: URLSearchParams): PageAnswer {
  try {
    const { origin, code, publisher } = parseInvitationLink((form.get('link') ?? '').slice(0, LINK_LENGTH));
    if (code === undefined) throw new ReaderError('link-malformed', 'the link has no code', { typed: true });
    const link = `${origin}#${code}${publisher === undefined ? '' : `.${publisher}`}`;
    return connectPage(context, { link, isFilledIn: true });
  } catch (error) {
    return connectPage(context, { link: '', alert: alertOf(error) });
  }
}

interface Attempt extends FormValues {
  readonly alert?: PageAlert;
  /** Tells whether a page filled it in. */
  readonly isFilledIn?: boolean;
}

export function connectPage({ token }: PagesContext, { alert, isFilledIn, ...values }: Attempt): PageAnswer {
  const { site } = values;
  const beginning = isFilledIn ? CONNECT.filledIn : site === undefined ? CONNECT.invitation : CONNECT.toRead(site);
  const whereFrom = site === undefined ? CONNECT.whereFrom : CONNECT.whereFromOf(site);
  const html = renderPage({
    title: CONNECT.title,
    lead: `${beginning} ${CONNECT.who}`,
    place: 'connect',
    alert,
    form: connectForm(token, values),
    note: alert || isFilledIn ? undefined : whereFrom,
  });
  return alert ? { html, status: 422 } : { html };
}

/** Looks at an invitation. Nothing is changed, and the code is not sent. */
export async function inspectLink(context: PagesContext, form: URLSearchParams): Promise<PageAnswer> {
  const link = (form.get('link') ?? '').slice(0, LINK_LENGTH);
  const { site, path } = wantedIn(form);
  const wanted = site === undefined || path === undefined ? undefined : { site, path };
  try {
    const invitation = await readInvitation(context.upstream, link, site, context.proofs.dnsServers);
    return await proposed(context, invitation, wanted);
  } catch (error) {
    const asksSite = isCodeAlone(link);
    return connectPage(context, { site, path, link, asksSite, alert: alertOf(error) });
  }
}

/** Looks at a site that a publisher has added: row 71 of docs/threat-model.md. */
export async function inspectSite(context: PagesContext, form: URLSearchParams): Promise<PageAnswer> {
  const { keyServer: origin, publisher } = (await newSiteIn(context, form)).binding.descriptor;
  try {
    return await proposed(context, { origin, publisher, code: undefined });
  } catch (error) {
    return connectPage(context, { link: '', alert: alertOf(error) });
  }
}

export async function declineSite(context: PagesContext, form: URLSearchParams): Promise<PageAnswer> {
  const { binding, site } = await newSiteIn(context, form);
  context.store.preferences.decline(binding.id, site);
  return { goTo: '/?done=declined' };
}

async function newSiteIn({ store }: PagesContext, form: URLSearchParams) {
  const bindings = await store.bindings();
  const binding = bindings.find(({ id }) => String(id) === form.get('publisher'));
  const site = form.get('site') ?? '';
  if (binding === undefined || !newSites(binding).includes(site))
    throw new ReaderError('page-unknown', 'no publisher asks for this site');
  return { binding, site };
}

async function proposed(context: PagesContext, link: InvitationLink, wanted?: RequestedDocument): Promise<PageAnswer> {
  const proposal = await propose(context, link, context.proofs);
  return { goTo: `/connect/${context.proposals.add({ ...proposal, wanted })}` };
}

/** Reads values of a link or a form, which may be anything: what is left is a site, and a path within it that may have a query. */
function wantedIn(values: URLSearchParams): FormValues {
  const site = (values.get('site') ?? '').toLowerCase();
  const path = values.get('path') ?? '';
  const isPath = path.length <= PATH_LENGTH && documentPathOf(path) !== undefined;
  return { site: isSite(site) ? site : undefined, path: isPath ? path : undefined };
}
