/** The subscribers, in pages; and inviting a person. */
import { pipeline } from 'node:stream/promises';
import type { Express, Request } from 'express';
import { daySpan } from '../../core/keys/set-time.ts';
import { unfit } from '../errors.ts';
import { field } from '../http/forms.ts';
import { readProviderRow } from '../publication/provider.ts';
import { invitationLink, inviteSubscriber } from '../readers/invitations.ts';
import { DIRECTORY_FILTERS, listSubscribers } from '../subscriptions/directory.ts';
import { findPlan, listPlans } from '../subscriptions/plans.ts';
import { exportSubscribers } from '../subscriptions/subscriber-export.ts';
import { findSubscriber, type Revoked, revokeSubscribers } from '../subscriptions/subscribers.ts';
import { type AdminPages, operatorState, query, queryWith, sendPage } from './pages.ts';

const REVOKE_LIST = { title: 'Revoke several', section: 'subscribers', revoked: [] as readonly Revoked[] };

export function addSubscriberPages(app: Express, pages: AdminPages): void {
  const { state } = pages;
  app.get('/subscribers', async (request, response) => {
    const wish = wishOf(request);
    const { search, plan, state: filter } = wish;
    const after = query(request, 'after');
    const { entries, more } = await listSubscribers(state.database, { ...wish, after }, state.now());
    const next = more ? queryWith({ ...wish, after: entries.at(-1)?.name }) : '';
    const plans = await listPlans(state);
    const page = {
      title: 'Subscribers',
      section: 'subscribers',
      now: state.now(),
      entries,
      next,
      filtered: queryWith(wish),
      search,
      plan,
      state: filter,
      plans,
    };
    await sendPage(pages, response, 'subscribers', { ...page, states: DIRECTORY_FILTERS, first: after === '' });
  });
  app.get('/subscribers.csv', async (request, response) => {
    response.attachment('subscribers.csv').type('text/csv');
    await pipeline(exportSubscribers(state, wishOf(request)), response);
  });
  app.get('/revoke', async (_request, response) => sendPage(pages, response, 'revoke-list', REVOKE_LIST));
  app.post('/revoke', async (request, response) => {
    const names = field(request, 'names')
      .split(/\r?\n/)
      .map((name) => name.trim())
      .filter(Boolean);
    const revoked = await revokeSubscribers(operatorState(response), names);
    await sendPage(pages, response, 'revoke-list', { ...REVOKE_LIST, revoked });
  });
  app.get('/invite', async (_request, response) => {
    await sendPage(pages, response, 'invite', {
      title: 'Invite a subscriber',
      section: 'subscribers',
      plans: await listPlans(state),
    });
  });
  app.post('/invite', async (request, response) => {
    const [name, plan, until] = [field(request, 'name'), field(request, 'plan'), field(request, 'until')];
    const sets = field(request, 'sets')
      .split(/[\s,]+/)
      .filter(Boolean);
    const zone = (await findPlan(state.database, plan))?.zone ?? 'UTC';
    const end = until === '' ? undefined : daySpan(until, zone);
    if (until !== '' && !end) throw unfit('the last day is no day such as 2027-06-30');
    const wish = { name, ...(plan ? { plan } : sets.length > 0 && { sets }), ...(end && { until: end.end - 1 }) };
    if (!plan && sets.length === 0) throw unfit('choose a plan, or name sets; “*” is all sets');
    await sendInvitation(pages, response, await inviteSubscriber(operatorState(response), wish));
  });
}

/** The filter of a list, as the query has it. */
function wishOf(request: Request) {
  const state = DIRECTORY_FILTERS.find((each) => each === query(request, 'state'));
  return { search: query(request, 'search'), plan: query(request, 'plan') || undefined, state };
}

/** Shows the link, once. */
export async function sendInvitation(
  pages: AdminPages,
  response: Parameters<typeof operatorState>[0],
  { subscriber, code, expires }: { readonly subscriber: string; readonly code: string; readonly expires: number },
): Promise<void> {
  const { state, origins } = pages;
  const link = invitationLink({ code }, origins.reading, (await readProviderRow(state.database))?.root);
  const id = (await findSubscriber(state.database, subscriber))?.id;
  await sendPage(pages, response, 'invited', {
    title: 'Invitation',
    section: 'subscribers',
    subscriber,
    id,
    link,
    expires,
  });
}
