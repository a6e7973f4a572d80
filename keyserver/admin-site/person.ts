/** Shows a subscriber: rights, devices, what can be read and why, and what can be changed. */
import type { Express, Request, Response } from 'express';
import { KeyServerError } from '../errors.ts';
import { field } from '../http/forms.ts';
import { describePerson } from '../operations/person.ts';
import { type Why, whyCanRead } from '../operations/why.ts';
import { removeDevice } from '../readers/devices.ts';
import { inviteAgain } from '../readers/invitations.ts';
import { beginSubscription, endSubscription } from '../readers/subscribing.ts';
import { newestAudit } from '../storage/audit.ts';
import type { Right } from '../subscriptions/periods.ts';
import { listPlans } from '../subscriptions/plans.ts';
import { revokeSubscriber, type Subscriber } from '../subscriptions/subscribers.ts';
import { type AdminPages, operatorState, query, sendPage } from './pages.ts';
import { sendInvitation } from './subscribers.ts';

const NEWEST = 12;

export function addPersonPages(app: Express, pages: AdminPages): void {
  const path = '/subscribers/:id';
  const back = (request: Request, response: Response) => response.redirect(303, `/subscribers/${request.params.id}`);
  app.get(path, (request, response) => showPerson(pages, request, response));
  app.get(`${path}/revoke`, async (request, response) => {
    const { name } = await personOf(pages, request);
    const ends = await revokeSubscriber(pages.state, name, { dryRun: true });
    const page = { title: `Revoke ${name}`, section: 'subscribers', id: request.params.id, ends };
    await sendPage(pages, response, 'revoke', page);
  });
  app.post(`${path}/revoke`, async (request, response) => {
    await revokeSubscriber(operatorState(response), (await personOf(pages, request)).name);
    back(request, response);
  });
  app.post(`${path}/invite`, async (request, response) => {
    const { name: subscriber } = await personOf(pages, request);
    await sendInvitation(pages, response, { subscriber, ...(await inviteAgain(operatorState(response), subscriber)) });
  });
  app.post(`${path}/plan`, async (request, response) => {
    const { name: subscriber } = await personOf(pages, request);
    const [plan, until] = [field(request, 'plan'), field(request, 'until') || null];
    if (field(request, 'step') === 'end') await endSubscription(operatorState(response), subscriber, plan);
    else await beginSubscription(operatorState(response), { subscriber, plan, until });
    back(request, response);
  });
  app.post(`${path}/remove-device`, async (request, response) => {
    const { id } = await personOf(pages, request);
    const device = Number(field(request, 'device'));
    if (Number.isSafeInteger(device)) await removeDevice(operatorState(response), id, device);
    back(request, response);
  });
}

async function personOf({ state }: AdminPages, { params }: Request): Promise<Subscriber> {
  const id = /^\d{1,15}$/.test(String(params.id)) ? Number(params.id) : -1;
  const found = await state.database.first<Subscriber>('SELECT id, name, revoked FROM subscribers WHERE id = ?', id);
  if (found) return found;
  throw new KeyServerError('no-such-subscriber', 'there is no such subscriber');
}

async function showPerson(pages: AdminPages, request: Request, response: Response): Promise<void> {
  const { state, config } = pages;
  const { database, now } = state;
  const person = await personOf(pages, request);
  const { name } = person;
  const what = query(request, 'what').trim();
  const { sets, ...described } = await describePerson(state, person);
  await sendPage(pages, response, 'person', {
    ...described,
    title: name,
    section: 'subscribers',
    now: now(),
    person,
    what,
    why: what === '' ? undefined : await whyOf(() => whyCanRead(config, state, name, what)),
    sets: sets.map((each) => ({ ...each, because: because(each) })),
    plans: await listPlans(state),
    rows: await newestAudit(database, { about: name }, NEWEST),
  });
}

function because({ reason, by }: Pick<Why, 'reason'> & { readonly by?: Right | null | undefined }): string {
  return REASONS[reason] + (by ? ` (${by.plan?.title ?? `sets ${by.patterns.join(', ')}`})` : '');
}

const REASONS: Readonly<Record<Why['reason'], string>> = {
  covered: 'a right covers it',
  public: 'it is public',
  lapsed: 'the right has ended',
  'not-entitled': 'no right covers it, or not its time',
  revoked: 'the access was withdrawn',
  'no-key': 'its key is not here: the publisher has to run “wispr publish”',
};

/** Answers also with what keeps the publication from being read. */
async function whyOf(ask: () => Promise<Why>) {
  try {
    const why = await ask();
    return { can: why.can, set: why.set, because: because(why) };
  } catch (error) {
    return { can: false, because: error instanceof Error ? error.message : 'it cannot be said' };
  }
}
