/** `wispr admin token`: what the publisher hands over bundles and publications with, or another system begins and ends subscriptions. */
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import {
  createToken,
  listTokens,
  revokeToken,
  TOKEN_SCOPES,
  type TokenOverview,
  type TokenScope,
} from '../../keyserver/publication/tokens.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { print, say, UsageError } from '../io/voice.ts';
import { isoDay } from './describe.ts';

interface Options extends AdminFlags {
  readonly name: string;
  readonly days: string;
  readonly for: string;
  readonly list?: boolean;
  readonly revoke?: string;
}

export function addTokenCommand(command: Command): void {
  command
    .option('--name <name>', 'name of the token', 'publisher')
    .option('--for <what>', 'what it allows: publish or subscriptions', 'publish')
    .option('--days <days>', 'validity', '365')
    .option('--list', 'list the tokens')
    .option('--revoke <name>', 'revoke a token')
    .action(run);
}

async function run({ config, json, name, days, list, revoke, for: scope }: Options): Promise<void> {
  if (!isScope(scope)) throw new UsageError(`--for takes ${TOKEN_SCOPES.join(' or ')}`);
  await withState(readConfig(config), async (state) => {
    if (revoke !== undefined) {
      await revokeToken(state, revoke);
      return json ? print(JSON.stringify({ revoked: revoke })) : say(`the token "${revoke}" is refused from now on`);
    }
    if (list) {
      const tokens = await listTokens(state);
      return print(json ? JSON.stringify(tokens) : tokens.map(describeToken).join('\n') || 'no tokens');
    }
    const made = await createToken(state, name, /^\d{1,5}$/.test(days) ? Number(days) : Number.NaN, scope);
    print(json ? JSON.stringify(made) : made.token);
    if (!json)
      say(
        `the token "${name}" is good until ${isoDay(made.expires)}, for ${PURPOSES[scope]} only; it is not shown again`,
      );
  });
}

const PURPOSES: Readonly<Record<TokenScope, string>> = { publish: 'publishing', subscriptions: 'subscriptions' };

function isScope(text: string): text is TokenScope {
  return TOKEN_SCOPES.includes(text as TokenScope);
}

export function describeToken({ name, scope, created, expires, lastUsed }: TokenOverview): string {
  const used = lastUsed === null ? 'not used yet' : `last used ${isoDay(lastUsed)}`;
  return `  ${name}: for ${PURPOSES[scope]}, made ${isoDay(created)}, good until ${isoDay(expires)}, ${used}`;
}
