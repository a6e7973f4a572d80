import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';
import { placesToWatch, watchSite } from '../../publisher/protect/watch.ts';
import type { Highest } from '../../publisher/publish/highest.ts';
import { type PublishRun, publishFromWorkspace } from '../../publisher/publish/publish.ts';
import { locateTargets, missingDirectories, type PublishTargets } from '../../publisher/publish/targets.ts';
import { hasKeyServer } from '../../publisher/workspace/configuration/schema.ts';
import { collect, locateConfiguration } from '../io/arguments.ts';
import { RESTORED_OPTION } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { readPassphrase, warnOfOpenKeys } from '../io/passphrase.ts';
import { showProgress, showProtecting } from '../io/progress.ts';
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

interface Flags extends SiteFlags, SignerFlags, RemovalFlags {
  readonly protect: boolean;
  readonly dryRun?: boolean;
  readonly rekey?: readonly string[];
  readonly merged?: boolean;
  readonly restored?: boolean;
  readonly yes?: boolean;
}

const DESCRIPTION = `protect the site, and bring it to where it is served, in the one safe order: keys to the key server, documents, metadata, and last the timestamp that makes them current

TARGET is a directory or s3://BUCKET/PREFIX; credentials for a bucket come from the environment or ~/.aws, as for every program of Amazon's

after an interruption, readers find the previous publication or this one, and the same command finishes`;

/** `wispr publish [TARGET]` */
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
    .option('--watch', 'go on, and publish again whenever the site changes')
    .option('--key <file>', 'sign with this key file too; repeatable', collect)
    .option('--key-passphrase-file <file>', 'the passphrase of --key (once, or once for each)', collect)
    .option('-y, --yes', 'make target directories that are not there; --allow-removal is another question')
    .action((target: string | undefined, flags: Flags) => publish(target, flags));
}

/** @param given - the passphrase, where it was asked for already */
export async function publish(target: string | undefined, flags: Flags, given?: string): Promise<void> {
  saveMemory();
  checkTogether(flags);
  const configurationFile = locateConfiguration(undefined, flags.config);
  const locate = () => locateTargets({ configurationFile, target, tokenFile: flags.tokenFile });
  const places = await locate();
  const { rekey = [] } = flags;
  if (flags.dryRun) return sayWhatWouldBeDone({ configurationFile, rekey }, flags);
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
async function publishAgain(locate: () => Promise<PublishTargets>, run: Run, flags: Flags): Promise<void> {
  const places = await locate();
  await confirmNewTargets(places, flags);
  await publishOnce(places, run, { ...flags, rekey: [], merged: false, restored: false, allowRemoval: false });
}

async function publishOnce(
  places: PublishTargets,
  { passphrase, signers, signal, isSettled }: Run,
  flags: Flags,
): Promise<void> {
  const { rekey = [], restored = false, quiet, json } = flags;
  const uploading = quiet ? undefined : showProgress('publishing', 'files');
  const protecting = showProtecting(quiet);
  const onRemoval = removalCheck(flags, protecting.end, isSettled);
  const run: PublishRun = {
    ...{ places, passphrase, signal, merged: flags.merged },
    ...(flags.protect && { protect: { rekey, restored, signers, onRemoval, ...protecting.shown } }),
    onProtected: (summary, highest) => {
      protecting.end();
      reportProtection(summary, highest, places, flags);
    },
    onProgress: uploading && (({ stage, done, total }) => uploading.update({ done, total, doing: stage })),
  };
  try {
    const { summary, protection } = await publishFromWorkspace(run);
    uploading?.end();
    if (json) print(JSON.stringify({ ...summary, protection }));
    else if (!quiet) print(describePublishing(summary, hasKeyServer(places.configuration)));
    warnAfterPublishing(summary);
    if (!quiet) for (const line of hintsAfterPublishing(summary, places)) say(line);
  } finally {
    protecting.end();
    uploading?.end();
    for (const each of places.targets) each.close();
  }
}

/** A directory that is not there may be the right one, misspelt, or a disk that is not mounted. */
async function confirmNewTargets({ targets }: PublishTargets, { yes }: Flags): Promise<void> {
  for (const directory of yes ? [] : missingDirectories(targets)) {
    if (!canAsk())
      throw new UsageError(`there is no directory ${directory}: make it, or add --yes, unless it is misspelt`);
    if (!(await askYesOrNo(`there is no directory ${directory}: make it, and publish there?`)))
      throw new UsageError('nothing was published');
  }
}

function checkTogether({ protect, key, rekey, restored, dryRun, watch }: Flags): void {
  if (watch && (dryRun || !protect))
    throw new UsageError(`--watch and ${dryRun ? '--dry-run' : '--no-protect'} do not go together`);
  if (protect) return;
  if (key !== undefined) throw new UsageError('--no-protect and --key do not go together');
  const other = (dryRun && '--dry-run') || (restored && '--restored') || (rekey && '--rekey');
  if (other) throw new UsageError(`--no-protect and ${other} do not go together`);
}

function reportProtection(
  summary: ProtectSummary,
  { snapshot }: Highest,
  { token }: PublishTargets,
  { quiet, json, rekey, watch }: Flags,
): void {
  if (!quiet && !json) print(describeProtectionToPublish(summary, token === undefined));
  if (!quiet) for (const line of [...describeRekey(summary), ...hintsAfterProtection(summary)]) say(line);
  for (const line of warnAboutSections(summary.sections)) say(line);
  const unreadable = warnAboutBundle(summary);
  for (const line of unreadable) say(line);
  if (unreadable.length > 0 && !watch) setExitCode(EXIT.failed);
  if (snapshot?.snapshot.closed && !quiet) say(`this ends the withdrawal by publication ${snapshot.file.version}`);
  if (rekey?.length) sayHint('leave --rekey out if the command has to be repeated: the new keys are made');
}
