/** The subscribers, in pages; and inviting a person. */
import { pipeline } from 'node:stream/promises';
import type { Express, Request, Response } from 'express';
import { daySpan } from '../../core/keys/set-time.ts';
import { unfit } from '../errors.ts';
import { field, formOf } from '../http/forms.ts';
import { readProviderRow } from '../publication/provider.ts';
import { importSubscribers, ListRefused } from '../readers/import-subscribers.ts';
import { invitationLink, inviteSubscriber, type NewCode } from '../readers/invitations.ts';
import { DIRECTORY_FILTERS, listSubscribers } from '../subscriptions/directory.ts';
import { findPlan, listPlans } from '../subscriptions/plans.ts';
import { exportSubscribers } from '../subscriptions/subscriber-export.ts';
import { wordsIn } from '../subscriptions/subscriber-list.ts';
import { findSubscriber, type Revoked, revokeSubscribers } from '../subscriptions/subscribers.ts';
import { type AdminPages, operatorState, query, queryWith, sendPage } from './pages.ts';
import { demandPasskey } from './sign-in.ts';

const LIST = { title: 'Subscribers', section: 'subscribers' };
const REVOKE_LIST = { ...LIST, title: 'Revoke several', revoked: [] as readonly Revoked[] };

export function addSubscriberPages(app: Express, pages: AdminPages): void {
  const { state } = pages;
  app.get('/subscribers', async (request, response) => {
    const wish = wishOf(request);
    const { search, plan, state: filter } = wish;
    const after = query(request, 'after');
    const { entries, more } = await listSubscribers(state.database, { ...wish, after }, state.now());
    const next = more ? queryWith({ ...wish, after: entries.at(-1)?.name }) : '';
    const plans = await listPlans(state);
    const shown = { search, plan, state: filter, states: DIRECTORY_FILTERS, filtered: queryWith(wish) };
    const page = { ...LIST, ...shown, entries, next, plans, now: state.now(), first: after === '' };
    await sendPage(pages, response, 'subscribers', page);
  });
  app.get('/subscribers.csv', async (request, response) => {
    response.attachment('subscribers.csv').type('text/csv');
    await pipeline(exportSubscribers(state, wishOf(request)), response);
  });
  app.get('/revoke', (_request, response) => sendPage(pages, response, 'revoke-list', REVOKE_LIST));
  app.post('/revoke', async (request, response) => {
    const names = field(request, 'names').split(/\r?\n/);
    const given = names.map((name) => name.trim()).filter(Boolean);
    const revoked = await revokeSubscribers(operatorState(response), given);
    await sendPage(pages, response, 'revoke-list', { ...REVOKE_LIST, revoked });
  });
  app.get('/invite', async (_request, response) => {
    await sendPage(pages, response, 'invite', { ...LIST, title: 'Invite a subscriber', plans: await listPlans(state) });
  });
  app.post('/invite', async (request, response) => {
    const [name, plan, until] = [field(request, 'name'), field(request, 'plan'), field(request, 'until')];
    const sets = wordsIn(field(request, 'sets'));
    const zone = (await findPlan(state.database, plan))?.zone ?? 'UTC';
    const end = until === '' ? undefined : daySpan(until, zone);
    if (until !== '' && !end) throw unfit('the last day is no day such as 2027-06-30');
    const wish = { name, ...(plan ? { plan } : sets.length > 0 && { sets }), ...(end && { until: end.end - 1 }) };
    if (!plan && sets.length === 0) throw unfit('choose a plan, or name sets; “*” is all sets');
    await sendInvitation(pages, response, await inviteSubscriber(operatorState(response), wish));
  });
}

function wishOf(request: Request) {
  const state = DIRECTORY_FILTERS.find((each) => each === query(request, 'state'));
  return { search: query(request, 'search'), plan: query(request, 'plan') || undefined, state };
}

/** Shows the link, once. */
export async function sendInvitation(
  pages: AdminPages,
  response: Response,
  { subscriber, code, expires }: NewCode & { readonly subscriber: string },
): Promise<void> {
  const { state, origins } = pages;
  const link = invitationLink({ code }, origins.reading, (await readProviderRow(state.database))?.root);
  const id = (await findSubscriber(state.database, subscriber))?.id;
  await sendPage(pages, response, 'invited', { ...LIST, title: 'Invitation', subscriber, id, link, expires });
}

/** Bytes of the form, in which a browser writes up to three for one: longer lists are imported by the command. */
const MAXIMUM_LENGTH = 4_194_304;
const SHOWN = 50;

/** Adds the page of lists: first what a list would change, then the list. */
export function addImportPages(app: Express, pages: AdminPages): void {
  const form = formOf(MAXIMUM_LENGTH, 5);
  const page = { ...LIST, title: 'Import a list' };
  app.get('/import', (_request, response) => sendPage(pages, response, 'import', { ...page, list: '', problems: [] }));
  app.post('/import', form, demandPasskey(pages), async (request, response) => {
    const list = field(request, 'list');
    const dryRun = field(request, 'step') !== 'take';
    try {
      const outcome = await importSubscribers(operatorState(response), Buffer.from(list), { dryRun });
      await sendPage(pages, response, 'imported', { ...page, list, outcome, dryRun });
    } catch (error) {
      if (!(error instanceof ListRefused)) throw error;
      const problems = error.problems.slice(0, SHOWN);
      await sendPage(pages, response.status(400), 'import', { ...page, list, problems });
    }
  });
}
