import type { Command } from 'commander';
import { nowInSeconds } from '../../node-support/clock.ts';
import { count, someOf } from '../../publisher/text.ts';
import { runTimestamp, type TimestampRun } from '../../publisher/timestamp/run.ts';
import type { SignedTimestamp } from '../../publisher/timestamp/sign-timestamp.ts';
import { confirmFromWorkspace } from '../confirm-publication.ts';
import type { Confirmed } from '../confirmed.ts';
import { warnAboutSignatures } from '../expiry-words.ts';
import { locateConfiguration } from '../io/arguments.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { untilSignal } from '../io/signals.ts';
import { print, say, UsageError } from '../io/voice.ts';
import { describeUnfinished } from '../withdraw-words.ts';
import { utcMinute } from './describe.ts';

export interface TimestampFlags {
  readonly config?: string;
  readonly key?: string;
  readonly metadata?: string;
  readonly tokenFile?: string;
  readonly passphraseFile?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** `wispr timestamp` */
export function addTimestampCommand(program: Command): void {
  addTimestampFlags(
    program
      .command('timestamp')
      .summary('confirm the publication for another 48 hours, by cron')
      .description(
        'sign a new timestamp for what was published last, and take it to the target of that publish, whatever "publish" in wispr.json says by now, and to the key server; what only "wispr protect" has made since is not confirmed, and everything else stays as it is',
      ),
  ).action(timestamp);
}

/** What `wispr timestamp` and `wispr withdraw` have in common. */
export function addTimestampFlags(command: Command): Command {
  return command
    .option('-c, --config <file>', 'wispr.json, or its directory (default: this directory)')
    .option('--key <file>', 'the timestamp key alone, from "wispr keys export timestamp FILE"; needs --metadata')
    .option('--metadata <dir>', 'with --key: the directory with timestamp.json')
    .option('--token-file <file>', 'the file with the publishing token of the key server')
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option('-q, --quiet', 'say nothing but errors and warnings')
    .option('--json', 'print one JSON object');
}

async function timestamp(flags: TimestampFlags): Promise<void> {
  const confirmed = await signTimestamp(flags);
  const { signed } = confirmed;
  if (flags.json) print(JSON.stringify(asJson(confirmed)));
  else if (!flags.quiet) print(`Publication ${signed.publication} is confirmed until ${utcMinute(signed.expires)}.`);
  if (!flags.quiet) for (const line of describePlace(confirmed)) say(line);
  if (!flags.quiet) for (const line of describeUnfinished(confirmed.unfinished ?? [])) say(line);
  warnAboutDropped(signed);
  warnAboutExpiry(signed);
}

/** Where it went, if `wispr.json` would have one think otherwise. */
export function describePlace({ target, configured, besides = [] }: Confirmed): string[] {
  if (configured === undefined || besides.includes(configured)) return [];
  return [
    `it is for ${target ?? 'the output'}, where this was published last, or was on its way to, and not for ${configured}, which wispr.json names: nothing was taken there`,
  ];
}

/**
 * Signs with the keys of the workspace, and takes the timestamp to its target and key server; or signs with a key file, in one directory.
 *
 * @param prepare - what has to be settled before a passphrase is asked for
 */
export async function signTimestamp(
  flags: TimestampFlags,
  withdraw?: number,
  prepare: () => Promise<void> = async () => undefined,
): Promise<Confirmed> {
  const from = keySource(flags);
  if (flags.metadata !== undefined && flags.key === undefined)
    throw new UsageError(
      '--metadata says where a key file signs, and there is none',
      'add --key FILE; or leave --metadata out: the timestamp goes to the target and the key server of wispr.json',
    );
  if (flags.metadata !== undefined && flags.tokenFile !== undefined)
    throw new UsageError(
      'with --metadata nobody is told but who is served from there: leave --token-file out',
      'without --metadata, the timestamp goes to the target and the key server of wispr.json',
    );
  await prepare();
  const passphrase = await readPassphrase(flags.passphraseFile);
  const run = { passphrase, directory: flags.metadata, withdraw };
  if ('configurationFile' in from && flags.metadata === undefined)
    return untilSignal((signal) =>
      confirmFromWorkspace(run, flags, { signal, onDoubt: say, ...(!flags.quiet && { onWait: say }) }),
    );
  return { signed: await runTimestamp({ ...run, from }), target: undefined, keyServerTold: false };
}

/** Where the timestamp key is. */
function keySource({ key, metadata, config }: TimestampFlags): TimestampRun['from'] {
  if (key === undefined) return { configurationFile: locateConfiguration(undefined, config) };
  if (metadata !== undefined) return { keyFile: key, directory: metadata };
  throw new UsageError(
    'a key file alone does not say where the publication is',
    'add --metadata DIR/.well-known/wispr',
  );
}

/** What others have to sign again soon. */
function warnAboutExpiry({ expiring }: SignedTimestamp): void {
  for (const line of warnAboutSignatures(expiring, 'wispr protect', nowInSeconds())) say(line);
}

/** What a timestamp has no room for: readers who have not heard of it are not told any more. */
export function warnAboutDropped({ withdrawn, dropped }: SignedTimestamp): void {
  if (dropped.length === 0) return;
  const which = `${count(dropped.length, 'withdrawn publication')} that the timestamp before named, ${someOf(dropped.map(String))}`;
  say(`${which}: left out, for a timestamp names ${withdrawn.length}, first those that were withdrawn here`);
  say(
    'hint: if "wispr keys list" shows some that nobody of you has withdrawn, somebody else has your timestamp key: "wispr keys rotate timestamp"',
  );
}

/** What was signed, who has it, and who is to have what is withdrawn still. */
export function asJson({ signed, target, besides = [], notShown = [], keyServerTold, unfinished = [] }: Confirmed) {
  const { version, expires, publication, withdrawn, dropped, expiring } = signed;
  const places = { target: target ?? null, besides, notShown, keyServerTold, unfinished };
  return { version, expires, publication, withdrawn, dropped, expiring, ...places };
}
