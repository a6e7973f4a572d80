import { isAbsolute, relative, resolve, sep } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { utcMinute } from '../../node-support/clock.ts';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';
import { placesToWatch, watchSite } from '../../publisher/protect/watch.ts';
import type { Highest } from '../../publisher/publish/highest.ts';
import { type PublishRun, publishFromWorkspace } from '../../publisher/publish/publish.ts';
import { locateTargets, missingDirectories, type PublishTargets } from '../../publisher/publish/targets.ts';
import { isAtOrBelow } from '../../publisher/site/walk.ts';
import { hasKeyServer } from '../../publisher/workspace/configuration/schema.ts';
import { collect, locateConfiguration } from '../io/arguments.ts';
import { RESTORED_OPTION } from '../io/common-options.ts';
import { currentIo, setExitCode } from '../io/context.ts';
import { readPassphrase, warnOfOpenKeys } from '../io/passphrase.ts';
import { showProgress, showProtecting, showWaiting } from '../io/progress.ts';
import { untilSignal } from '../io/signals.ts';
import { askYesOrNo, canAsk } from '../io/terminal.ts';
import { EXIT, print, say, sayHint, UsageError } from '../io/voice.ts';
import { saveMemory } from '../start-frugally.ts';
import {
  describeProtectionToPublish,
  describeRekey,
  hintsAfterProtection,
  sayWhatWouldBeDone,
  warnAboutBundle,
  warnAboutSections,
} from './protection-summary.ts';
import { describePublishing, hintsAfterPublishing, warnAfterPublishing } from './publish-summary.ts';
import { readSigners, type SignerFlags } from './signers.ts';
import { addSiteFlags, type SiteFlags } from './timestamp.ts';
import { ALLOW_REMOVAL_OPTION, type RemovalFlags, removalCheck, tryAgain } from './watching.ts';

const DESCRIPTION = `protect the site, and bring it to where it is served, in the one safe order: keys to the key server, documents, metadata, and last the timestamp that makes them current

TARGET is a directory or s3://BUCKET/PREFIX; credentials for a bucket come from the environment or ~/.aws, as for every program of Amazon's

after an interruption, readers find the previous publication or this one, and the same command finishes`;

export function addPublishCommand(program: Command): void {
  addSiteFlags(program.command('publish'))
    .summary('protect a site, and bring it to its web hosts')
    .description(DESCRIPTION)
    .argument('[target]', 'where to, once (default: all targets in wispr.json, or else just "out")')
    .option('--no-protect', 'publish what is in "out" as it is')
    .option('--dry-run', 'say what protecting the site would do, and do nothing; asks for no passphrase')
    .option('--rekey <set>', 'give a set a new key; repeatable', collect)
    .option('--merged', 'publish although another copy of the workspace was last: the site here has its changes')
    .option(...RESTORED_OPTION)
    .option(...ALLOW_REMOVAL_OPTION)
    .option(
      '--only <paths...>',
      'publish these files or directories of the site (paths from the current directory), and leave all else as it is',
    )
    .option(
      '--at <time>',
      'protect and sign now, and send at a time within a week: 05:00, or YYYY-MM-DDT05:00',
      parseTime,
    )
    .option('--check-all', 'compare everything with what was left in "out" and at the targets, byte for byte')
    .option('--watch', 'go on, and publish again whenever the site changes')
    .option('--key <file>', 'sign with this key file too; repeatable', collect)
    .option('--key-passphrase-file <file>', 'the passphrase of --key (once, or once for each)', collect)
    .option('-y, --yes', 'make target directories that are not there; --allow-removal is another question')
    .action((target: string | undefined, flags: PublishFlags) => publish(target, flags));
}

/** @param given - the passphrase, where it was asked for already */
export async function publish(target: string | undefined, flags: PublishFlags, given?: string): Promise<void> {
  saveMemory();
  checkTogether(flags);
  const configurationFile = locateConfiguration(undefined, flags.config);
  const locate = () => locateTargets({ configurationFile, target, tokenFile: flags.tokenFile });
  const places = await locate();
  const { rekey = [] } = flags;
  if (flags.dryRun) return sayWhatWouldBeDone({ configurationFile, rekey }, flags);
  if (flags.at !== undefined && places.targets.length === 0)
    throw new UsageError(
      '--at needs a target: without one, "out" itself is served, and shows what is protected at once',
    );
  documentsOf(flags.only ?? [], places); // checked before a passphrase is typed
  await confirmNewTargets(places, flags);
  const passphrase = given ?? (await readPassphrase(flags.passphraseFile));
  const signers = await readSigners(flags);
  await warnOfOpenKeys([places.workspace.keyStore, places.workspace.rootKeys]);
  await untilSignal(async (signal) => {
    const run = { passphrase, signers, signal };
    if (!flags.watch) return publishOnce(places, run, flags);
    await watchSite(placesToWatch(configurationFile), signal, async (times, isSettled) => {
      const watched = { ...run, isSettled };
      if (times > 0) return tryAgain(() => publishAgain(locate, watched, flags), flags, signal);
      await publishOnce(await locate(), watched, flags);
      if (!flags.quiet)
        say(`watching ${resolve(places.workspace.directory, places.configuration.source)}; Ctrl-C ends it`);
      return true;
    });
  });
}

interface Run extends Pick<PublishRun, 'passphrase'> {
  readonly signers: Awaited<ReturnType<typeof readSigners>>;
  readonly signal: AbortSignal;
  readonly isSettled?: () => boolean;
}

/** `wispr.json` may name other targets by now. */
async function publishAgain(locate: () => Promise<PublishTargets>, run: Run, flags: PublishFlags): Promise<void> {
  const places = await locate();
  await confirmNewTargets(places, flags);
  await publishOnce(places, run, { ...flags, rekey: [], merged: false, restored: false, allowRemoval: false });
}

async function publishOnce(
  places: PublishTargets,
  { passphrase, signers, signal, isSettled }: Run,
  flags: PublishFlags,
): Promise<void> {
  const { rekey = [], restored = false, quiet, json, checkAll, at } = flags;
  const only = flags.only && documentsOf(flags.only, places);
  const uploading = showProgress('publishing', 'files', quiet);
  const waiting = waitFor(at);
  const { onProgress, end: endProtecting } = showProtecting(quiet);
  const onRemoval = removalCheck(flags, endProtecting, isSettled);
  const run: PublishRun = {
    ...{ places, passphrase, signal, merged: flags.merged, at },
    ...((checkAll || only) && { inTurn: checkAll ? 'all' : 0 }),
    ...(flags.protect && { protect: { rekey, restored, signers, onRemoval, checkAll, only, onProgress } }),
    onProtected: (summary, highest) => {
      endProtecting();
      reportProtection(summary, highest, places, flags);
    },
    onWaiting: quiet ? undefined : waiting.onWaiting,
    onHeld: (version, until) => {
      if (!quiet) say(`publication ${version}, held back until ${utcMinute(until)}, is sent now`);
    },
    onProgress: ({ stage, done, total }) => {
      waiting.end();
      uploading.update({ done, total, doing: stage });
    },
  };
  try {
    const { summary, protection } = await publishFromWorkspace(run);
    uploading.end();
    if (json) print(JSON.stringify({ ...summary, protection }));
    else if (!quiet) print(describePublishing(summary, hasKeyServer(places.configuration)));
    warnAfterPublishing(summary);
    if (!quiet) for (const line of hintsAfterPublishing(summary, places)) say(line);
  } finally {
    endProtecting();
    waiting.end();
    uploading.end();
    for (const each of places.targets) each.close();
  }
}

/** A directory that is not there may be the right one, misspelt, or a disk that is not mounted. */
async function confirmNewTargets({ targets }: PublishTargets, { yes }: PublishFlags): Promise<void> {
  for (const directory of yes ? [] : missingDirectories(targets)) {
    if (!canAsk())
      throw new UsageError(`there is no directory ${directory}: make it, or add --yes, unless it is misspelt`);
    if (!(await askYesOrNo(`there is no directory ${directory}: make it, and publish there?`)))
      throw new UsageError('nothing was published');
  }
}

/** Says once what is waited for; a terminal shows for how long. */
function waitFor(at = 0): { readonly onWaiting: PublishRun['onWaiting']; readonly end: () => void } {
  let bar: ReturnType<typeof showWaiting> | undefined;
  let whole = 0;
  const onWaiting = (publication: number, left: number) => {
    if (whole === 0)
      say(`publication ${publication} is signed, and is sent at ${utcMinute(at)}; Ctrl-C ends this with nothing sent`);
    whole ||= left;
    bar ??= showWaiting();
    bar.update({ done: whole - left, total: whole });
  };
  return { onWaiting, end: () => bar?.end() };
}

function reportProtection(
  summary: ProtectSummary,
  { snapshot }: Highest,
  { token }: PublishTargets,
  { quiet, json, rekey, watch, only }: PublishFlags,
): void {
  if (!quiet && !json) print(describeProtectionToPublish(summary, token === undefined, only !== undefined));
  if (!quiet) for (const line of [...describeRekey(summary), ...hintsAfterProtection(summary)]) say(line);
  for (const line of warnAboutSections(summary.sections)) say(line);
  const unreadable = warnAboutBundle(summary);
  for (const line of unreadable) say(line);
  if (unreadable.length > 0 && !watch) setExitCode(EXIT.failed);
  if (snapshot?.snapshot.closed && !quiet) say(`this ends the withdrawal by publication ${snapshot.file.version}`);
  if (rekey?.length) sayHint('leave --rekey out if the command has to be repeated: the new keys are made');
}

interface PublishFlags extends SiteFlags, SignerFlags, RemovalFlags {
  readonly protect: boolean;
  readonly dryRun?: boolean;
  readonly rekey?: readonly string[];
  readonly merged?: boolean;
  readonly restored?: boolean;
  readonly yes?: boolean;
  readonly checkAll?: boolean;
  readonly only?: readonly string[];
  readonly at?: number;
}

/** Options each of which excludes the others of its line. */
const APART: readonly (readonly (keyof PublishFlags)[])[] = [
  ['watch', 'dryRun'],
  ['watch', 'at'],
  ['dryRun', 'at'],
  ['only', 'dryRun'],
  ['only', 'watch'],
  ['only', 'rekey'],
  ['only', 'restored'],
  ['only', 'merged'],
  ['only', 'checkAll'],
];
const WITH_PROTECTING = ['watch', 'key', 'dryRun', 'restored', 'rekey', 'only'] as const;

/** @throws UsageError */
function checkTogether(flags: PublishFlags): void {
  const called = (flag: string) => `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const refuse = (one: string, other: string) => new UsageError(`${one} and ${other} do not go together`);
  for (const [one = 'only', other = 'only'] of APART)
    if (flags[one] && flags[other]) throw refuse(called(one), called(other));
  const protecting = WITH_PROTECTING.find((flag) => flags[flag]);
  if (!flags.protect && protecting) throw refuse('--no-protect', called(protecting));
}

/** Paths of documents, from paths of files as a shell completes them. @throws UsageError */
function documentsOf(files: readonly string[], { workspace, configuration }: PublishTargets): string[] {
  const source = resolve(workspace.directory, configuration.source);
  const documents = files.map((file) => {
    const path = relative(source, resolve(currentIo().cwd, file));
    if (path.split(sep)[0] === '..' || isAbsolute(path))
      throw new UsageError(`${file} is not in the site, ${source}: paths count from the current directory`);
    return path === '' ? '' : `/${path.split(sep).join('/')}`;
  });
  return documents.filter(
    (one, index) =>
      !documents.some((other, at) => at !== index && isAtOrBelow(one, other) && (one !== other || at < index)),
  );
}

/** Seconds that are waited at most: signatures and the machine's clock are for nearer times. */
const MOST_WAITING = 7 * 86_400;

/** Seconds since 1970 of a time of day, the next that comes, or of a date with a time; by this machine's clock where no zone is named. */
function parseTime(text: string): number {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  const now = new Date();
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate(), Number(hour), Number(minute));
  if (hour !== undefined && today <= now) today.setDate(today.getDate() + 1);
  const isDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?$/.test(text);
  const seconds = (hour !== undefined ? today.getTime() : isDate ? Date.parse(text) : Number.NaN) / 1000;
  if (Number.isNaN(seconds))
    throw new InvalidArgumentError(
      'it takes a time such as 05:00, or YYYY-MM-DDT05:00, perhaps with Z or +01:00, within a week',
    );
  const left = seconds - now.getTime() / 1000;
  if (left <= 0) throw new InvalidArgumentError('it is past');
  if (left > MOST_WAITING) throw new InvalidArgumentError('it is more than a week from now');
  return seconds;
}
