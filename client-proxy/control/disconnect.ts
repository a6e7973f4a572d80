/** Disconnecting a publisher: asked once more, then its sites, keys and publications go from this device. */
import { ReaderError } from '../errors.ts';
import { renderPage } from '../pages/template.ts';
import { DISCONNECT_TEXT } from '../pages/texts-control.ts';
import type { StoredBinding } from '../store/store.ts';
import type { ControlAnswer } from './answer.ts';
import type { ControlContext } from './context.ts';
import type { Asked } from './control-pages.ts';
import { checkOwnLink } from './guard.ts';
import { shownName } from './shown-name.ts';

export async function showDisconnect(context: ControlContext, asked: Asked): Promise<ControlAnswer> {
  checkOwnLink(asked.request);
  const { id, descriptor, sites } = await findBinding(context, asked);
  const html = renderPage({
    title: DISCONNECT_TEXT.title(shownName(descriptor.name)),
    lead: DISCONNECT_TEXT.lead(sites.map(({ site }) => site).join(', ')),
    place: 'other',
    note: DISCONNECT_TEXT.hint,
    form: {
      action: `/publishers/${id}/disconnect`,
      token: context.token,
      fields: [],
      submit: DISCONNECT_TEXT.submit,
      grave: true,
      cancel: { text: DISCONNECT_TEXT.cancel, url: '/' },
    },
  });
  return { html };
}

export async function disconnect(context: ControlContext, asked: Asked): Promise<ControlAnswer> {
  const { id, sites } = await findBinding(context, asked);
  context.store.identity().forgetBinding(id);
  await Promise.all(sites.map(({ site }) => context.cache.forget(site)));
  context.activity.forgetSites(new Set(sites.map(({ site }) => site)));
  return { goTo: '/?done=disconnected' };
}

async function findBinding({ store }: ControlContext, { parts }: Asked): Promise<StoredBinding> {
  const binding = (await store.bindings()).find(({ id }) => String(id) === parts[0]);
  if (binding === undefined) throw new ReaderError('page-unknown', 'there is no such publisher, or not any more');
  return binding;
}
