import type { Command } from 'commander';
import { nowInSeconds, utcMinute } from '../../node-support/clock.ts';
import { type Confirmation, confirmSite, confirmWithKeyFile } from '../../publisher/publish/confirm.ts';
import { type Site, withSite } from '../../publisher/publish/site.ts';
import { locateTargets, type PublishTargets } from '../../publisher/publish/targets.ts';
import { locateConfiguration } from '../io/arguments.ts';
import { JSON_OPTION, type OutputFlags, PASSPHRASE_OPTION, QUIET_OPTION, SITE_OPTION } from '../io/common-options.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { untilSignal } from '../io/signals.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { warnAboutSignatures } from './expiry-words.ts';
import { describePlaces, warnAboutRest } from './publish-summary.ts';

export interface SiteFlags extends OutputFlags {
  readonly config?: string;
  readonly tokenFile?: string;
  readonly passphraseFile?: string;
}

interface Flags extends SiteFlags {
  readonly key?: string;
  readonly metadata?: string;
}

export function addTimestampCommand(program: Command): void {
  addSiteFlags(program.command('timestamp'))
    .summary('confirm that the publication is current, by cron')
    .description(
      'confirm that the current publication is current, and put the new timestamp at every target in wispr.json; what only "wispr protect" has made since is not touched',
    )
    .option('--key <file>', 'the timestamp key alone, from "wispr keys export timestamp FILE"; needs --metadata')
    .option('--metadata <dir>', 'with --key: the directory with timestamp.json')
    .action(timestamp);
}

/** Adds the flags of commands that work on a published site. */
export function addSiteFlags(command: Command): Command {
  return command
    .option(...SITE_OPTION)
    .option('--token-file <file>', "the file with the key server's publishing token")
    .option(...PASSPHRASE_OPTION)
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION);
}

async function timestamp(flags: Flags): Promise<void> {
  const { key, metadata, passphraseFile } = flags;
  checkTogether(flags);
  if (key !== undefined && metadata !== undefined) {
    const passphrase = await readPassphrase(passphraseFile);
    return report(await confirmWithKeyFile({ keyFile: key, directory: metadata, passphrase }), metadata, flags);
  }
  const { confirmation, out } = await onSite(flags, async (site) => {
    return { confirmation: await confirmSite(site), out: site.out };
  });
  report(confirmation, out, flags);
  warnAboutRest(confirmation, 'the same command');
}

/** Opens the site of the flags for `work`; Ctrl-C ends it. */
export async function onSite<Result>(
  flags: SiteFlags,
  work: (site: Site) => Promise<Result>,
  prepare?: (places: PublishTargets) => Promise<void>,
): Promise<Result> {
  const configurationFile = locateConfiguration(undefined, flags.config);
  const places = await locateTargets({ configurationFile, tokenFile: flags.tokenFile });
  await prepare?.(places);
  const passphrase = await readPassphrase(flags.passphraseFile);
  try {
    return await untilSignal((signal) => withSite(places, { passphrase, signal, keyServerLimits: URGENT }, work));
  } finally {
    for (const target of places.targets) target.close();
  }
}

/** Milliseconds for a key server to answer, and bytes per millisecond to it. */
const URGENT = { request: 10_000, sending: 4 };

function checkTogether({ key, metadata, tokenFile }: Flags): void {
  if (key !== undefined && metadata === undefined)
    throw new UsageError('--key needs --metadata DIR/.well-known/wispr: where the publication is');
  if (metadata === undefined) return;
  if (key === undefined)
    throw new UsageError('--metadata needs --key FILE; without both, the targets of wispr.json are meant');
  if (tokenFile !== undefined) throw new UsageError('--metadata and --token-file do not go together');
}

function report(confirmation: Confirmation, out: string, { json, quiet }: Flags): void {
  const { publication, freshUntil, closed, expires } = confirmation;
  if (json) print(JSON.stringify(confirmation));
  else if (!quiet)
    print(
      `Publication ${publication} is confirmed until ${utcMinute(freshUntil)}: ${describePlaces(confirmation, out)}`,
    );
  if (closed) {
    say(`publication ${publication} is a withdrawal: readers are shown nothing`);
    sayHint('`wispr publish` ends it');
  }
  for (const line of warnAboutSignatures(expires, 'wispr publish', nowInSeconds())) say(line);
}
