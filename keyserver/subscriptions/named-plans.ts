/** The plans that the configuration names. */
import type { Logger } from 'pino';
import type { KeyServerConfig } from '../config/config.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findPlan } from './plans.ts';

/**
 * Says which of them there are not. It is no refusal to start: plans are made by a command, perhaps after the first start, and those who read
 * already must not be kept out by a name that only new subscribers need. Until then no subscription to such a plan begins.
 */
export async function warnOfUnknownPlans(
  config: Pick<KeyServerConfig, 'openid' | 'stripe'>,
  { database }: KeyServerState,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  for (const [member, plan] of namedPlans(config)) {
    if (await findPlan(database, plan)) continue;
    const todo = `make it with "wispr admin plan ${plan} --sets PATTERNS", or correct ${member}`;
    log.warn({ member, plan }, `there is no such plan, and no subscription to it begins: ${todo}`);
  }
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
