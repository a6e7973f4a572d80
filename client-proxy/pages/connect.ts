/** Connecting with a publisher in the browser, by the same code as `wispr bind`: first the link of the invitation; then confirm.ts. */
import { documentPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import { propose } from '../connect/connection.ts';
import { isCodeAlone, readInvitation } from '../connect/invitation.ts';
import { type InvitationLink, parseInvitationLink } from '../connect/link.ts';
import { ReaderError } from '../errors.ts';
import { type PageAnswer, type PageRequest, type PagesContext, usesProxy } from './context.ts';
import type { RequestedDocument } from './proposals.ts';
import { newSites } from './publishers.ts';
import { doneText, type FormField, KEPT_BEFORE, type PageAlert, type PageForm, renderPage } from './template.ts';
import { alertFor, type ProblemText } from './texts.ts';

/** Characters of a link; that of a mail names the document that is wanted. */
const LINK_LENGTH = 4096;
const SITE_LENGTH = 253;
/** Percent-encoded once more in a form, it still fits into what the guard reads. */
const PATH_LENGTH = 4096;

const TELL_PUBLISHER = 'Try again in a few minutes. If it happens again, tell the publisher the code below.';
const PUBLICATION_WRONG = {
  text: 'The publisher’s signed files could not be loaded, or are not valid.',
  hint: TELL_PUBLISHER,
};
const DAMAGED: ProblemText = {
  text: 'The answer of the publisher’s server is malformed, or was changed on its way.',
  hint: 'Try another network. If it happens again, tell the publisher the code below.',
};
/** Why a connection failed, by code, where it is not for a reason that the pages of documents have too. */
const PROBLEMS: Readonly<Record<string, ProblemText>> = {
  'link-malformed': {
    text: 'This is not the whole link of an invitation.',
    hint: 'Copy the whole link, with # and what stands behind it; a code alone needs its site. A browser that opened the link offers it under “The Reader did not open?”',
  },
  'read-in-browser': {
    text: 'This site is read in a browser: no Reader can be connected with it.',
    hint: 'Open the link of your invitation in your browser.',
  },
  'code-refused': {
    text: 'This invitation no longer works: its code is mistyped, used or too old.',
    hint: 'Copy the whole link once more. If it was used on another device, ask the publisher for a new invitation.',
  },
  'seats-taken': {
    text: 'All seats of this invitation are taken.',
    hint: 'Ask who sent it to you to free one, or to add some; then try again. The link stays good.',
  },
  'too-many-devices': {
    text: 'You read on as many devices as your publisher allows.',
    hint: 'Remove one in your account, then come back and connect. Your invitation still works.',
  },
  'site-taken': {
    text: 'One of these sites is connected already, with another publisher.',
    hint: 'Two publishers never share a site. If the site has changed hands, disconnect the previous publisher first.',
  },
  'descriptor-foreign': {
    text: 'This invitation is not from the publisher of that site, so nothing was connected.',
    hint: 'Your code was not sent. Ask the publisher itself for an invitation.',
  },
  'host-proof': {
    text: 'A site does not say that this is its publisher, so it was not connected.',
    hint: 'A site has to name its publisher at its own address. If the invitation is genuine, tell the publisher the code below.',
  },
  'host-unreachable': {
    text: 'A site could not be asked whether this is its publisher, so it was not connected.',
    hint: 'It did not answer. Check your connection, and try again; your invitation still works.',
  },
  'argument-invalid': { text: 'No site was chosen, so nothing was connected.', hint: 'Choose at least one.' },
  'descriptor-malformed': DAMAGED,
  'binding-malformed': DAMAGED,
  'metadata-missing': {
    text: 'The site has not published anything yet that this computer could check.',
    hint: 'Try again once the site is published; your invitation still works.',
  },
  'content-host-unreachable': { ...PUBLICATION_WRONG, text: 'The site does not answer.' },
  'root-unexpected': PUBLICATION_WRONG,
};

/** What to say of a failed attempt to connect. @throws errors without a code */
export function alertOf(error: unknown): PageAlert {
  return alertFor(error, PROBLEMS);
}

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
      label: 'Link or code of your invitation',
      hint: 'For example https://read.news.example/-/join#ABCD-EFGH-JKMN-PQRS. It works once.',
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
      label: 'Site that it is for',
      hint: 'For example news.example. Only a code alone needs it.',
      value: site,
      maximumLength: SITE_LENGTH,
    });
  else if (site !== undefined) fields.push({ kind: 'hidden', name: 'site', value: site });
  if (path !== undefined) fields.push({ kind: 'hidden', name: 'path', value: path });
  return { action: '/connect', token, fields, submit: 'Continue' };
}

/** `?site=` comes from links on fallback pages, or from any page: it only words the page, and opens what is connected already. */
export async function showConnect(context: PagesContext, asked: PageRequest): Promise<PageAnswer> {
  const { query } = asked;
  const { site, path } = wantedIn(query);
  const bound = site === undefined ? undefined : context.sites.find(site);
  if (site === undefined || bound === undefined) return connectPage(context, { site, path });
  const isNew = query.get('done') === 'connected';
  const html = renderPage({
    title: isNew ? `${site} is connected` : `${site} is connected already`,
    lead: isNew ? undefined : 'There is nothing to do: you can open it.',
    place: 'connect',
    status: isNew ? doneText('connected', usesProxy(context, asked)) : undefined,
    note: !isNew && usesProxy(context, asked) ? KEPT_BEFORE : undefined,
    action: { text: `Open ${site}`, url: context.urlOf(bound.label) + (path ?? '/').slice(1) },
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
  /** By a page, and not by the person. */
  readonly isFilledIn?: boolean;
}

export function connectPage({ token }: PagesContext, { alert, isFilledIn, ...values }: Attempt): PageAnswer {
  const { site } = values;
  const beginning = isFilledIn
    ? 'The page that you come from has filled in an invitation.'
    : site === undefined
      ? 'An invitation is a link that you have from a publisher.'
      : `To read ${site} in the Reader, paste the link of your invitation.`;
  const whereFrom =
    site === undefined
      ? 'You have no invitation? Publishers give them to their subscribers. Ask yours for one.'
      : `You have no invitation? The publisher of ${site} gives them to its subscribers. Ask for one, or read in the browser.`;
  const html = renderPage({
    title: 'Connect with a publisher',
    lead: `${beginning} You will see who it is from before anything is connected.`,
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
    return await proposeAndShow(context, invitation, wanted);
  } catch (error) {
    const asksSite = isCodeAlone(link);
    return connectPage(context, { site, path, link, asksSite, alert: alertOf(error) });
  }
}

/** Looks at a site that a publisher has added: row 71 of docs/threat-model.md. */
export async function inspectSite(context: PagesContext, form: URLSearchParams): Promise<PageAnswer> {
  const { keyServer: origin, publisher } = (await newSiteIn(context, form)).binding.descriptor;
  try {
    return await proposeAndShow(context, { origin, publisher, code: undefined });
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

async function proposeAndShow(
  context: PagesContext,
  link: InvitationLink,
  wanted?: RequestedDocument,
): Promise<PageAnswer> {
  const proposal = await propose(context, link, context.proofs);
  return { goTo: `/connect/${context.proposals.add({ ...proposal, wanted })}` };
}

/** From a link or a form, so it may be anything: what is left is a site, and a path within it that may have a query. */
function wantedIn(values: URLSearchParams): FormValues {
  const site = (values.get('site') ?? '').toLowerCase();
  const path = values.get('path') ?? '';
  const isPath = path.length <= PATH_LENGTH && documentPathOf(path) !== undefined;
  return { site: isSite(site) ? site : undefined, path: isPath ? path : undefined };
}
