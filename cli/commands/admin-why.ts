/** `wispr admin why`: why a person can or cannot read a document. */
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { type Why, whyCanRead } from '../../keyserver/operations/why.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, sayHint } from '../io/voice.ts';
import { describeRight, isoDay } from './describe.ts';

export function addWhyCommand(command: Command): void {
  command.action(run);
}

async function run(name: string, what: string, { config: configFile, json }: AdminFlags): Promise<void> {
  const config = readConfig(configFile);
  const why = await withState(config, (state) => whyCanRead(config, state, name, what));
  print(json ? JSON.stringify(why) : describeWhy(why));
  const hint = json ? undefined : hintFor(why);
  if (hint !== undefined) sayHint(hint);
}

function describeWhy({ subscriber, group, path, set, can, reason, by }: Why): string {
  const what = path === undefined ? `the set ${set}` : set === undefined ? path : `${path} (set ${set})`;
  const who = group === undefined ? subscriber : `${subscriber}, a member of ${group},`;
  const begin = `${who} ${can ? 'can' : 'cannot'} read ${what}: `;
  switch (reason) {
    case 'public':
      return `${begin}it is public`;
    case 'covered':
      return `${begin}${by ? describeRight(by) : ''}`;
    case 'lapsed':
      return `${begin}${by ? describeRight(by) : 'the subscription'} has ended${by?.until ? ` on ${isoDay(by.until)}` : ''}`;
    case 'revoked':
      return `${begin}the access was withdrawn`;
    case 'no-key':
      return `${begin}the key of its set is not here`;
    case 'not-entitled':
      return by
        ? `${begin}${describeRight(by)} does not cover its time`
        : `${begin}no plan or set of this subscriber has it`;
  }
}

function hintFor({ subscriber, reason, by }: Why): string | undefined {
  const plan = by?.plan ? ` --plan ${by.plan.name}` : '';
  if (reason === 'lapsed') return `\`wispr invite "${subscriber}"${plan} --until DATE\` begins it anew`;
  if (reason === 'not-entitled' && !by) return '`wispr admin plan` lists the plans, and the sets that each has';
  if (reason === 'revoked') return `\`wispr invite "${subscriber}" --plan PLAN\` starts anew`;
  return reason === 'no-key' ? 'the publisher hands it over with `wispr publish`' : undefined;
}
