/** Disconnecting a publisher: after one more question, its sites, keys and publications are removed from this device. */
import { DISCONNECT } from '../../words/en/reader.ts';
import { ReaderError } from '../errors.ts';
import type { StoredBinding } from '../store/types.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { checkOwnLink } from './guard.ts';
import { shownName } from './look.ts';
import { renderPage } from './template.ts';

export async function showDisconnect(context: PagesContext, asked: PageRequest): Promise<PageAnswer> {
  checkOwnLink(asked.request);
  const { id, descriptor, sites } = await findBinding(context, asked);
  const names = sites.map(({ site }) => site).join(', ');
  const html = renderPage({
    title: DISCONNECT.title(shownName(descriptor.name)),
    lead: DISCONNECT.lead(names),
    place: 'other',
    note: DISCONNECT.note,
    form: {
      action: `/publishers/${id}/disconnect`,
      token: context.token,
      fields: [],
      submit: DISCONNECT.submit,
      grave: true,
      cancel: DISCONNECT.cancel,
    },
  });
  return { html };
}

export async function disconnect(context: PagesContext, _: URLSearchParams, asked: PageRequest): Promise<PageAnswer> {
  const { id, sites } = await findBinding(context, asked);
  context.store.identity().forgetBinding(id);
  await Promise.all(sites.map(({ site }) => context.cache.forget(site)));
  context.activity.forgetSites(new Set(sites.map(({ site }) => site)));
  return { goTo: '/?done=disconnected' };
}

async function findBinding({ store }: PagesContext, { part }: PageRequest): Promise<StoredBinding> {
  const binding = (await store.bindings()).find(({ id }) => String(id) === part);
  if (binding === undefined) throw new ReaderError('page-unknown', 'this publisher is not connected');
  return binding;
}
