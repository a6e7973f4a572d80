/**
 * The API's half for other systems: a shop, a membership list, a payment service begins and ends subscriptions. Names of people stand in bodies
 * only, so that they are in no log of addresses. What there is, docs/openapi.json says, which is made from {@link OPERATIONS}.
 */
import type { Express, Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import { parseJson } from '../../node-support/parse-json.ts';
import { KeyServerError, unfit } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { limitRequests } from '../http/limits.ts';
import { mailInvitation } from '../mail/invitation.ts';
import { readProviderRow } from '../publication/provider.ts';
import { invitationLink, inviteAgain, MAXIMUM_VALID_DAYS } from '../readers/invitations.ts';
import { beginSubscription, endSubscription } from '../readers/subscribing.ts';
import { listPlans } from '../subscriptions/plans.ts';
import { MAXIMUM_SEATS, seatsOf } from '../subscriptions/seats.ts';
import { knownSubscriber, MAXIMUM_NAME_LENGTH, revokeSubscriber } from '../subscriptions/subscribers.ts';
import { plansOf } from '../subscriptions/subscriptions.ts';
import { actingState, body, bytesOf, demandToken, refuseTooMany } from './answers.ts';
import type { ApiOptions } from './options.ts';

/** Bytes of a request. */
const MAXIMUM_LENGTH = 8192;

const date = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/)
  .meta({ description: "A day of the plan's time zone, such as 2026-11-30." });
/** PostgreSQL has no text with a NUL in it, and looks none up. */
const text = z.string().refine((value) => !value.includes('\0'));
const subscriber = text
  .min(1)
  .max(MAXIMUM_NAME_LENGTH)
  .meta({ description: 'Name of the subscriber, whatever the case.' });
const plan = text.min(1).max(40).meta({ description: 'Name of the plan.' });

/** An operation: what it takes, and what it does. */
interface Operation {
  readonly path: string;
  readonly summary: string;
  readonly request: z.ZodType;
  readonly answer: z.ZodType;
  readonly run: (options: ApiOptions, request: never) => Promise<unknown>;
}

const seats = z.int().min(1).max(MAXIMUM_SEATS).meta({ description: 'Of a group: how many members it can have.' });
const held = z.object({ plan, title: z.string(), from: z.number(), until: z.number().nullable() });
const person = z.strictObject({ subscriber });
const beginning = z.strictObject({
  subscriber,
  plan,
  from: date.optional().meta({ description: 'First day; from now on, if left out.' }),
  until: date.nullish().meta({ description: 'Last day; without end, if left out or null.' }),
  seats: seats
    .optional()
    .meta({ description: 'Makes the subscriber a group, or changes how many members it can have.' }),
});
const ending = z.strictObject({ subscriber, plan: plan.optional().meta({ description: 'All plans, if left out.' }) });
const inviting = z.strictObject({
  subscriber,
  days: z
    .int()
    .min(1)
    .max(MAXIMUM_VALID_DAYS)
    .optional()
    .meta({ description: 'Validity of the link; 7, if left out.' }),
  mail: z
    .literal(true)
    .optional()
    .meta({ description: 'Sends the link by mail to the name, which is a mail address; the answer is without it.' }),
});

/** Operations, which take POST and a token for subscriptions. */
export const OPERATIONS: readonly Operation[] = [
  {
    path: '/v1/subscriptions/begin',
    summary: 'Begin a subscription, or move its end. A subscriber who is unknown or was revoked starts anew.',
    request: beginning,
    answer: z.object({ outcome: z.enum(['begun', 'moved', 'unchanged']), created: z.boolean() }),
    run: ({ state }, request: z.infer<typeof beginning>) => beginSubscription(state, request),
  },
  {
    path: '/v1/subscriptions/end',
    summary: 'End subscriptions now. What a dated plan gave for ever stays.',
    request: ending,
    answer: z.object({ ended: z.number() }),
    run: async ({ state }, { subscriber, plan }: z.infer<typeof ending>) => ({
      ended: await endSubscription(state, subscriber, plan),
    }),
  },
  {
    path: '/v1/subscriptions/show',
    summary: 'Show the subscriptions of a subscriber. Times are seconds since 1970.',
    request: person,
    answer: z.object({
      subscriber,
      revoked: z.boolean(),
      subscriptions: z.array(held),
      seats: seats.optional(),
      taken: z.number().optional(),
    }),
    run: show,
  },
  {
    path: '/v1/subscriptions/invite',
    summary:
      'Make the one-time link with which a subscriber begins to read; of a group, the link for all of its seats, in place of the one before.',
    request: inviting,
    answer: z.object({ link: z.string().optional(), expires: z.number() }),
    run: invite,
  },
  {
    path: '/v1/subscriptions/revoke',
    summary: 'Withdraw all access, of a group also that of its members: devices are refused, sessions end.',
    request: person,
    answer: z.object({
      ...{ members: z.number(), devices: z.number(), sessions: z.number(), invitations: z.number() },
      elsewhere: z.array(z.string()).meta({ description: 'Subscriptions to cancel at another system too.' }),
    }),
    run: async ({ state }, { subscriber }: z.infer<typeof person>) => {
      const { name: known } = await knownSubscriber(state.database, subscriber);
      const { name: _, ...ended } = await revokeSubscriber(state, known);
      return ended;
    },
  },
  {
    path: '/v1/subscriptions/plans',
    summary: 'List the plans.',
    request: z.strictObject({}),
    answer: z.object({ plans: z.array(z.object({ name: plan, title: z.string(), subscriptions: z.number() })) }),
    run: async ({ state }) => {
      const plans = await listPlans(state);
      return { plans: plans.map(({ name, title, subscriptions }) => ({ name, title, subscriptions })) };
    },
  },
];

export function addSubscriptionRoutes(app: Express, options: ApiOptions): void {
  const { state, limits } = options;
  const counted = limitRequests(limits.subscriptionsPerAddress, refuseTooMany);
  const token = demandToken(state, 'subscriptions', limits.publishingRefusals);
  for (const operation of OPERATIONS)
    app.post(operation.path, noStore, token, counted, body(MAXIMUM_LENGTH), answerWith(options, operation));
}

function answerWith(options: ApiOptions, { request: form, run }: Operation): RequestHandler {
  return async (request: Request, response: Response) => {
    const { data, error } = form.safeParse(parseJson(bytesOf(request.body), '{}'));
    if (error) throw unfit('the request is not of the form that docs/openapi.json has');
    response.json(await run({ ...options, state: actingState(options.state, response) }, data as never));
  };
}

async function show({ state }: ApiOptions, request: z.infer<typeof person>) {
  const { id, name, revoked } = await knownSubscriber(state.database, request.subscriber);
  const subscriptions = (await plansOf(state.database, id)).map(({ zone: _, ...each }) => each);
  return { subscriber: name, revoked: revoked !== null, subscriptions, ...(await seatsOf(state, id)) };
}

async function invite({ state, origins, mailer }: ApiOptions, request: z.infer<typeof inviting>) {
  const { subscriber: typed, days, mail } = request;
  if (mail) {
    if (!mailer) throw new KeyServerError('mail-off', 'the configuration of this key server has no "mail"');
    const { name } = await knownSubscriber(state.database, typed);
    const sender = { state, mailer, origins };
    return { expires: (await mailInvitation(sender, name, () => inviteAgain(state, name, days))).expires };
  }
  const invitation = await inviteAgain(state, typed, days);
  const root = (await readProviderRow(state.database))?.root;
  return { link: invitationLink(invitation, origins.reading, root), expires: invitation.expires };
}
