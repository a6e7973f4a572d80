/** `wispr admin operator`: who may open the operators' pages. */
import type { Command } from 'commander';
import {
  adminOrigin,
  inviteOperator,
  listOperators,
  type OperatorOverview,
  removeOperator,
} from '../../keyserver/admin-site/operators.ts';
import { readConfig } from '../../keyserver/config/config.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { count } from '../../publisher/text.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, say, UsageError } from '../io/voice.ts';
import { isoDay } from './describe.ts';

interface Options extends AdminFlags {
  readonly list?: boolean;
  readonly remove?: string;
}

export function addOperatorCommand(command: Command): void {
  command
    .argument('[name]', 'the operator, who is new or needs a further passkey')
    .option('--list', 'list the operators')
    .option('--remove <name>', 'end the sessions of an operator, and refuse the passkeys')
    .action(run);
}

async function run(name: string | undefined, { config: file, json, list, remove }: Options): Promise<void> {
  if ([name, list, remove].filter((each) => each !== undefined).length !== 1)
    throw new UsageError('name the operator, or take --list or --remove NAME');
  const config = readConfig(file);
  await withState(config, async (state) => {
    if (remove !== undefined) {
      await removeOperator(state, remove);
      return json ? print(JSON.stringify({ removed: remove })) : say(`${remove} is no operator any more`);
    }
    if (name === undefined) {
      const operators = await listOperators(state);
      return print(json ? JSON.stringify(operators) : operators.map(describeOperator).join('\n') || 'no operators');
    }
    const { admin } = config;
    if (!admin) throw new UsageError("the operators' pages are off", `set "admin" in ${file}`);
    const { code, expires } = await inviteOperator(state, name);
    const link = `${await adminOrigin(state, admin, admin.listen.port)}/join#${code}`;
    if (json) return print(JSON.stringify({ operator: name, link, expires }));
    say(`open this link on the device of ${name}; it registers one passkey, until ${utcMinute(expires)}`);
    print(link);
  });
}

function describeOperator({ name, created, passkeys, lastUsed }: OperatorOverview): string {
  const used = lastUsed === null ? 'not used yet' : `last used ${isoDay(lastUsed)}`;
  return `  ${name}: since ${isoDay(created)}, ${count(passkeys, 'passkey')}, ${used}`;
}
