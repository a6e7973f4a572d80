/** `wispr admin plan`: what people subscribe to. */
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import {
  definePlan,
  extendPlan,
  listPlans,
  MOST_DAYS,
  type PlanOverview,
  removePlan,
} from '../../keyserver/subscriptions/plans.ts';
import { count } from '../../publisher/text.ts';
import { parseWholeNumber } from '../io/arguments.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, say, UsageError } from '../io/voice.ts';

interface Options extends AdminFlags {
  readonly sets?: string;
  readonly title?: string;
  readonly dated?: string | boolean;
  readonly remove?: boolean;
  readonly extend?: number;
}

export function addPlanCommand(command: Command): void {
  command
    .argument('[name]', 'the plan (default: list all plans)')
    .option('--sets <patterns>', 'which sets it has, like day-*')
    .option('--title <text>', 'what readers see, like "Weekday paper"')
    .option('--dated <zone>', 'keep dated sets readable for people subscribed on that date, by this time zone')
    .option('--no-dated', 'all its sets can be read while subscribed')
    .option('--extend <days>', 'move the end of all its subscriptions', parseWholeNumber(MOST_DAYS))
    .option('--remove', 'remove a plan that had no subscription')
    .action(run);
}

async function run(name: string | undefined, options: Options): Promise<void> {
  const { config, json, sets, title, dated, remove, extend } = options;
  if (name === undefined && (sets ?? title ?? remove ?? extend) !== undefined) throw new UsageError('name the plan');
  await withState(readConfig(config), async (state) => {
    if (name === undefined) {
      const plans = await listPlans(state);
      return print(json ? JSON.stringify(plans) : plans.map(describePlan).join('\n') || 'no plans');
    }
    if (remove) {
      await removePlan(state, name);
      return json ? print(JSON.stringify({ removed: name })) : say(`the plan "${name}" is removed`);
    }
    if (extend !== undefined) {
      const extended = await extendPlan(state, name, extend);
      return json
        ? print(JSON.stringify({ extended }))
        : say(`${count(extended, 'subscription')} extended by ${count(extend, 'day')}`);
    }
    const zone = dated === false ? '' : dated === true ? undefined : dated;
    const { created } = await definePlan(state, { name, title, sets: sets?.split(/[\s,]+/).filter(Boolean), zone });
    const shown = (await listPlans(state)).find((each) => each.name === name) as PlanOverview;
    if (json) return print(JSON.stringify({ ...shown, created }));
    say(`${created ? 'made' : 'changed'} the plan${describePlan(shown)}`);
    if (!created && shown.subscriptions > 0) say('for all of them, it counts from their next key request on');
  });
}

const PERIOD_KEYS = { given: 'period keys', different: 'NO PERIOD KEYS' } as const;

export function describePlan(plan: PlanOverview): string {
  const { name, title, patterns, zone, subscriptions, periodKeys, offer, differs } = plan;
  const parts = [
    `sets ${patterns.join(', ')}`,
    zone === null ? 'while subscribed' : `dated, ${zone}`,
    count(subscriptions, 'subscription'),
    ...(periodKeys ? [PERIOD_KEYS[periodKeys]] : []),
    ...(offer?.price ? [offer.price] : []),
    ...(offer?.trial ? [`${count(offer.trial, 'day')} free`] : []),
    ...(offer?.buy ? [offer.buy] : []),
    ...(differs.length > 0 ? [`OTHERWISE IN wispr.json: ${differs.join(', ')}`] : []),
  ];
  return `  ${name} "${title}": ${parts.join('; ')}`;
}
