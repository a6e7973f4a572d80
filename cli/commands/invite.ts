import { existsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { DEFAULT_CONFIG_FILE } from '../../keyserver/config/config.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { hasReadingSite } from '../../publisher/workspace/configuration/schema.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import { parseWholeNumber } from '../io/arguments.ts';
import { PASSPHRASE_OPTION } from '../io/common-options.ts';
import { UsageError } from '../io/voice.ts';
import { inviteByKeyFiles } from './invite-alone.ts';
import { type InviteFlags, inviteSubscribersTo } from './invite-subscriber.ts';

/** `wispr invite NAME...`: a link for each. On a key server it works once, in any browser and for the Reader; without one it is a browser's. */
export function addInviteCommand(program: Command): void {
  program
    .command('invite')
    .summary('print links for readers')
    .description(
      'make or extend invitations, and print their links: of a key server in its directory, and of a site without one in that of its wispr.json',
    )
    .argument('<names...>', 'names of readers; on a key server also for signing in')
    .option('-c, --config <file>', `configuration: ${DEFAULT_CONFIG_FILE}, or ${CONFIGURATION_FILE}`)
    .option('--sets <patterns>', 'which sets, like 2026-* (default: all, or as before)')
    .option('--plan <name>', 'on a key server: which plan, in place of --sets ("wispr admin plan")')
    .option('--from <date>', 'on a key server: first day of the plan (default: now)')
    .option('--until <date>', 'last day, like 2027-06-30 (default: no end)')
    .option('--for <days>', 'on a key server: length in place of --until, like 7 for a trial', parseWholeNumber(9999))
    .option('--valid <days>', 'on a key server: validity of the link (default: 7)')
    .option('--seats <number>', 'on a key server: a group, such as a school; the link works for so many people')
    .option('--mail', 'on a key server: send it to the name, a mail address, and do not print the link')
    .option('--link', 'with --mail: print the link too')
    .option('--password', 'without a key server: make a link that asks for a password')
    .option('--remove', 'take the invitation back')
    .option(...PASSPHRASE_OPTION)
    .option('--json', 'print a line of JSON for each')
    .action(run);
}

async function run(names: readonly string[], flags: InviteFlags): Promise<void> {
  const file = workspaceIn(flags.config);
  if (file === undefined) {
    if (flags.config === undefined && !existsSync(DEFAULT_CONFIG_FILE)) throw inNoDirectory();
    return inviteSubscribersTo(names, flags);
  }
  const configuration = await readConfiguration(file);
  if (flags.mail || flags.link) throw new UsageError('only a key server sends mail');
  if (!hasReadingSite(configuration)) return inviteByKeyFiles(names, file, flags);
  throw new UsageError(
    `the key server ${configuration.keyServer} invites readers of this site`,
    'run "wispr invite" there, in its directory',
  );
}

function inNoDirectory(): UsageError {
  const hint = 'run this in the directory of a key server, or of a site without one, or name the file with -c';
  return new UsageError(`there is neither ${DEFAULT_CONFIG_FILE} nor ${CONFIGURATION_FILE} in this directory`, hint);
}

/** The `wispr.json` that is meant; `undefined` where it is a key server's directory. */
function workspaceIn(config: string | undefined): string | undefined {
  const isDirectory = config !== undefined && statSync(config, { throwIfNoEntry: false })?.isDirectory();
  const place = isDirectory ? config : '.';
  if (config !== undefined && !isDirectory) return basename(config) === CONFIGURATION_FILE ? config : undefined;
  const [own, keyServer] = [CONFIGURATION_FILE, DEFAULT_CONFIG_FILE].map((each) => join(place, each));
  return own && existsSync(own) && keyServer && !existsSync(keyServer) ? own : undefined;
}
