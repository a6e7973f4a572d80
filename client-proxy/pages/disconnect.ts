/** Disconnecting a publisher: after one more question, its sites, keys and publications are removed from this device. */
import { ReaderError } from '../errors.ts';
import type { StoredBinding } from '../store/types.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { checkOwnLink } from './guard.ts';
import { renderPage } from './template.ts';
import { shownName } from './words.ts';

export async function showDisconnect(context: PagesContext, asked: PageRequest): Promise<PageAnswer> {
  checkOwnLink(asked.request);
  const { id, descriptor, sites } = await findBinding(context, asked);
  const names = sites.map(({ site }) => site).join(', ');
  const html = renderPage({
    title: `Disconnect ${shownName(descriptor.name)}?`,
    lead: `${names} will no longer be read through the Reader, and the publisher’s keys are removed from this computer. To connect again you need a new invitation.`,
    place: 'other',
    note: 'The publisher is not notified. Sites of other publishers still work.',
    form: {
      action: `/publishers/${id}/disconnect`,
      token: context.token,
      fields: [],
      submit: 'Disconnect',
      grave: true,
      cancel: 'Keep it',
    },
  });
  return { html };
}

export async function disconnect(
  context: PagesContext,
  _form: URLSearchParams,
  asked: PageRequest,
): Promise<PageAnswer> {
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
