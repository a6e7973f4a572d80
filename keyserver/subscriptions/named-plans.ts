/** The plans that the configuration names. */
import type { Logger } from 'pino';
import type { KeyServerConfig } from '../config/config.ts';
import { readOffers } from '../publication/signed-plans.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findPlan } from './plans.ts';

/** Tells whether an address is one of Stripe's Payment Links. */
export function isPaymentLink(buy: string): boolean {
  return new URL(buy).host === 'buy.stripe.com';
}

/**
 * Says which of them there are not. It is no refusal to start: plans are made by a command, perhaps after the first start, and those who read
 * already must not be kept out by a name that only new subscribers need. Until then no subscription to such a plan begins.
 */
export async function warnOfUnknownPlans(
  config: Pick<KeyServerConfig, 'mail' | 'openid' | 'stripe'>,
  state: KeyServerState,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  for (const [member, plan] of namedPlans(config)) {
    if (await findPlan(state.database, plan)) continue;
    const todo = `make it with "wispr admin plan ${plan} --sets PATTERNS", or correct ${member}`;
    log.warn({ member, plan }, `there is no such plan, and no subscription to it begins: ${todo}`);
  }
  await warnOfVainOffers(config, state, log);
}

/** Says what the publisher offers, and cannot be kept. */
export async function warnOfVainOffers(
  configured: Configured,
  state: KeyServerState,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  for (const { plan, says, todo } of await findVainOffers(configured, state))
    log.warn({ plan }, `${says}: ${todo}, or take the offer out of wispr.json`);
}

/** Means of keeping offers. */
interface Configured {
  readonly mail?: unknown;
  readonly stripe?: Pick<NonNullable<KeyServerConfig['stripe']>, 'plans'> | undefined;
}

/** Offer that strangers see, and that cannot be kept. */
export interface VainOffer {
  readonly plan: string;
  readonly says: string;
  readonly todo: string;
}

/** Finds what the publisher offers, and the configuration cannot keep: readers who are promised free days, or pay, get nothing. */
export async function findVainOffers({ mail, stripe }: Configured, { database }: KeyServerState): Promise<VainOffer[]> {
  const priced = new Set(Object.values(stripe?.plans ?? {}));
  return (await readOffers(database)).flatMap(({ name: plan, trial, buy }) => {
    const isAtStripe = buy !== undefined && isPaymentLink(buy);
    const noTrial = trial !== undefined && mail === undefined;
    return [
      ...(noTrial ? [{ plan, says: 'free days are offered, and nobody can sign up', todo: 'set "mail"' }] : []),
      ...(isAtStripe && !priced.has(plan)
        ? [{ plan, says: 'it is sold at Stripe, and no price is this plan', todo: 'name its price in "stripe.plans"' }]
        : []),
    ];
  });
}

/** Members of the configuration, and the plan that each names. */
function namedPlans({ openid, stripe }: Pick<KeyServerConfig, 'openid' | 'stripe'>) {
  const prices = Object.entries(stripe?.plans ?? {});
  const named: [member: string, plan: string | undefined][] = [
    ['openid.plan', openid?.plan],
    ...prices.map(([price, plan]): [string, string] => [`stripe.plans.${price}`, plan]),
  ];
  return named.filter((each): each is [string, string] => each[1] !== undefined);
}
