import { join, relative } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { publishCommand } from '../../publisher/publish/publish-command.ts';
import { metadataDirectory } from '../../publisher/timestamp/run.ts';
import type { Confirmed } from '../confirmed.ts';
import { collect, locateConfiguration } from '../io/arguments.ts';
import { askYesOrNo, canAsk } from '../io/terminal.ts';
import { print, say, UsageError } from '../io/voice.ts';
import {
  addTimestampFlags,
  asJson,
  describePlace,
  signTimestamp,
  type TimestampFlags,
  warnAboutDropped,
} from './timestamp.ts';

interface Flags extends TimestampFlags {
  readonly yes?: boolean;
  readonly gone?: readonly string[];
}

/** `wispr withdraw VERSION` */
export function addWithdrawCommand(program: Command): void {
  addTimestampFlags(
    program
      .command('withdraw')
      .summary('let readers refuse a publication that should not have been made')
      .description('sign a timestamp that withdraws a version; it cannot be taken back')
      .argument('<version>', 'the version of the publication, as "wispr keys list" shows it', parseVersion),
  )
    .option('-y, --yes', 'withdraw without a question')
    .option('--gone <target>', 'a place that is gone for good, and need not be told; more than once', collect)
    .action(withdraw);
}

function parseVersion(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('a version is a whole number, like 7');
}

async function withdraw(version: number, flags: Flags): Promise<void> {
  if (flags.gone !== undefined && flags.metadata !== undefined)
    throw new UsageError('with --metadata nobody is told but who is served from there: leave --gone out');
  const confirmed = await signTimestamp(flags, version, async () => {
    if (!flags.yes) await confirm(version);
  });
  if (flags.json) print(JSON.stringify(asJson(confirmed)));
  else if (!flags.quiet) tell(version, confirmed, await timestampFile(flags));
  warnAboutDropped(confirmed.signed);
}

async function confirm(version: number): Promise<void> {
  if (!canAsk()) {
    throw new UsageError(
      'withdrawing needs a yes, and there is no terminal to ask on',
      'add --yes if you are sure: it cannot be taken back',
    );
  }
  if (await askYesOrNo(`withdraw publication ${version}, for good?`)) return;
  throw new UsageError('not withdrawn, and nothing was changed');
}

/** What was signed, as it is to be taken elsewhere. */
async function timestampFile({ metadata, config }: Flags): Promise<string> {
  const directory = metadata ?? (await metadataDirectory(locateConfiguration(undefined, config)));
  return relative('.', join(directory, TIMESTAMP_FILE));
}

function tell(version: number, confirmed: Confirmed, file: string): void {
  const { signed, target, keyServerTold, publishAgain = publishCommand() } = confirmed;
  const { besides = [], notShown = [], goesOn = [], isConfirmedByKeyServer } = confirmed;
  const { publication } = signed;
  print(`Publication ${version} is withdrawn.`);
  if (version < publication) {
    const isToo = signed.withdrawn.includes(publication);
    const other = isToo
      ? `publication ${publication} is withdrawn as well`
      : `publication ${publication} is not touched`;
    say(`readers that still have it refuse it from their next check on; ${other}`);
  } else {
    const who = goesOn.length > 0 ? 'readers who have it' : 'readers';
    say(`from their next check on, ${who} are shown nothing of this site but a page that says that it was withdrawn`);
    say(
      `hint: put right what was wrong, then "${publishAgain}", or "wispr protect" where you copy the output yourself: publication ${publication + 1} ends this`,
    );
  }
  if (confirmed.isOnlyTold)
    say(`it is not at ${target}: only the key server told readers of that publication; a higher one ends this`);
  const at = confirmed.isOnlyTold ? besides : [target, ...besides];
  for (const name of at) if (name !== undefined) say(`it is at ${name} now`);
  for (const { target: name, shown } of notShown)
    say(
      `it was not brought to ${name}, which shows ${shown}; if publication ${version} appears there after all, run the same command again`,
    );
  for (const { target: name, shown } of goesOn) say(`who is served from ${name} goes on with publication ${shown}`);
  for (const line of describePlace(confirmed)) say(line);
  if (keyServerTold) say('the key server has it, and confirms that publication no more');
  if (target === undefined) say(hintToTake(file, version, goesOn));
  if (!keyServerTold && isConfirmedByKeyServer !== false) say(hintToTell(version, isConfirmedByKeyServer));
}

/** Where somebody is served something good, it stays. */
function hintToTake(file: string, version: number, goesOn: NonNullable<Confirmed['goesOn']>): string {
  const names = goesOn.map(({ target }) => target).join(', nor to ');
  return names === ''
    ? `hint: take ${file} to your web host, unless it is served from where it is; "publish" in wispr.json has it done`
    : `hint: where publication ${version} was copied to by hand, take ${file} there; not to ${names}`;
}

/** @param isKnown - whether it is known that a key server confirms the site; `undefined` where there is no configuration */
function hintToTell(version: number, isKnown: boolean | undefined): string {
  const goesOn = 'hint: if your key server confirms this site, it goes on until it is told';
  return isKnown === undefined
    ? `${goesOn}, or looks at this host: run "wispr withdraw ${version}" with its token as well, where wispr.json is`
    : `${goesOn}: run the same command again with its token, by "keyServerTokenFile" in wispr.json or --token-file`;
}
