import type { Command } from 'commander';
import { DEFAULT_CONFIG_FILE, readConfig } from '../../keyserver/config.ts';
import { knownOrigins } from '../../keyserver/origins.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { type Invitation, invitationLink, inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { withState } from '../../keyserver/storage/state.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { describeGrant, isoDay } from './describe.ts';

interface Options {
  readonly config: string;
  readonly sets?: string;
  readonly until?: string;
  readonly valid?: string;
  readonly json?: boolean;
}

/** `wispr invite NAME`: a one-time link, for any browser and for the Reader. */
export function addInviteCommand(program: Command): void {
  program
    .command('invite')
    .description('create or extend a subscriber; prints a link')
    .argument('<name>', 'name of the subscriber, also for signing in')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG_FILE)
    .option('--sets <patterns>', 'which sets, like 2026-* (default: all, or as before)')
    .option('--until <date>', 'last day, like 2027-06-30 (default: no end)')
    .option('--valid <days>', 'validity of the link (default: 7)')
    .option('--json', 'print JSON')
    .action(run);
}

async function run(name: string, options: Options): Promise<void> {
  const config = readConfig(options.config);
  const request = {
    name,
    sets: options.sets?.split(','),
    until: options.until === undefined ? undefined : endOfDay(options.until),
    validDays: options.valid === undefined ? undefined : Number(options.valid),
  };
  await withState(config, async (state) => {
    const origins = await knownOrigins(state.database, config);
    const invitation = await inviteSubscriber(state, request);
    const provider = await readProviderRow(state.database);
    const link = invitationLink(invitation, origins.keyServer, provider?.root);
    if (options.json) print(JSON.stringify({ ...asJson(invitation), link }));
    else sayInvitation(invitation, link);
    if (!provider) sayNoPublisher();
    else if (invitation.unmatched.length > 0) sayUnmatched(invitation.unmatched);
  });
}

function sayInvitation({ subscriber, created, grants, kept, expires }: Invitation, link: string): void {
  const who = created ? 'is a new subscriber' : 'was a subscriber already, and may read in all';
  say(`${subscriber} ${who}: ${grants.map(describeGrant).join(', ')}`);
  if (kept.length > 0) {
    say(`nothing was taken away; granted before: ${kept.map(describeGrant).join(', ')}`);
    sayHint('"wispr admin revoke NAME" takes everything away; with --sets after that, those sets only are granted');
  }
  say(`send this link; it works once, until ${isoDay(expires)}`);
  print(link);
  sayHint('it opens in any browser, and offers the Reader too; `wispr bind` asks for it');
}

/** The link is good as it is: the bundle has to name these origins, or it is refused. */
function sayNoPublisher(): void {
  say('there is no publisher here yet: the link leads to nothing until its key bundle is imported');
  sayHint('"wispr admin import FILE", with the bundle that "wispr protect" makes; this link works from then on');
}

/** Sets may come later, so this is no error. */
function sayUnmatched(patterns: readonly string[]): void {
  say(`no set matches ${patterns.join(', ')} yet`);
  sayHint('`wispr admin list` shows the sets that there are');
}

function asJson({ subscriber, created, grants, kept, expires, code }: Invitation) {
  return { subscriber, created, grants, kept, expires, code };
}

/** The last second of a day, in UTC. */
function endOfDay(text: string): number {
  const end = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T23:59:59Z`) : Number.NaN;
  // Date.parse turns 31 February into 3 March in some engines; the round trip does not.
  if (Number.isNaN(end) || new Date(end).toISOString().slice(0, 10) !== text) {
    throw new UsageError(`"${text.slice(0, 40)}" is not a date`, 'write it like 2027-06-30');
  }
  return end / 1000;
}
