import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { readLastPublished } from '../../publisher/last-published.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';
import { canBeReworded, reworded } from '../../publisher/publish/bring-failures.ts';
import { checkClock } from '../../publisher/publish/clock-check.ts';
import { handOverKeys } from '../../publisher/publish/key-server.ts';
import { type PublishSummary, publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { missingDirectory } from '../../publisher/publish/resolve-target.ts';
import { untilStopped } from '../../publisher/publish/stopping.ts';
import type { LastPublished } from '../../publisher/published-places.ts';
import { sayWhatWouldBeDone } from '../dry-run.ts';
import { collect } from '../io/arguments.ts';
import { setExitCode } from '../io/context.ts';
import { readPassphrase, warnOfOpenKeys } from '../io/passphrase.ts';
import { showProgress, showProtecting } from '../io/progress.ts';
import { untilSignal } from '../io/signals.ts';
import { askYesOrNo, canAsk } from '../io/terminal.ts';
import { EXIT, print, say, UsageError } from '../io/voice.ts';
import { leftBehind } from '../left-behind.ts';
import {
  describeProtectionToPublish,
  describeRekey,
  hintsAfterProtection,
  warnAboutBundle,
  warnAboutSections,
} from '../protection-summary.ts';
import { clocksOf, locatePlaces, type PublicationPlaces } from '../publication-places.ts';
import { describeMove, describePublishing, hintsAfterPublishing, warningsAfterPublishing } from '../publish-summary.ts';
import { readSigners } from '../signers.ts';
import { saveMemory } from '../start-frugally.ts';

interface Options {
  config?: string;
  protect: boolean;
  dryRun?: boolean;
  rekey?: readonly string[];
  tokenFile?: string;
  keysHandedOver?: boolean;
  replaceNewer?: boolean;
  passphraseFile?: string;
  key?: readonly string[];
  keyPassphraseFile?: readonly string[];
  yes?: boolean;
  quiet?: boolean;
  json?: boolean;
}

const DESCRIPTION = `protect the site, and bring it to where it is served, in the one safe order: keys to the key server, documents, metadata, and last the file that makes them visible

TARGET is a directory or s3://BUCKET/PREFIX; credentials for a bucket come from the environment or ~/.aws, as for every program of Amazon's
whatever interrupts it, readers find the publication before, and the next run goes on; only between a root with other keys and that last file they may have none until it does`;

/** `wispr publish [TARGET]` */
export function addPublishCommand(program: Command): void {
  program
    .command('publish')
    .summary('protect a site, and bring it to its web host')
    .description(DESCRIPTION)
    .argument('[target]', 'where to (default: "publish" in wispr.json, or else just "out")')
    .option('-c, --config <file>', 'the configuration, or its directory (default: this one)')
    .option('--no-protect', 'publish what is in "out" as it is; asks for no passphrase')
    .option('--dry-run', 'say what protecting the site would do, and do nothing; asks for no passphrase')
    .option('--rekey <set>', 'give a set a new key (more than once for more)', collect)
    .option('--token-file <file>', 'the file with the publishing token of the key server')
    .option(
      '--keys-handed-over',
      'go on without a token, or where the key server does not answer: it was given keys.bundle by hand',
    )
    .option(
      '--replace-newer',
      'go on where something newer was confirmed with a timestamp key that has been replaced since: it was stolen',
    )
    .option(
      '--key <file>',
      "sign with this key file too: a section's, or a second signer's (more than once for more)",
      collect,
    )
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option(
      '--key-passphrase-file <file>',
      'take the passphrase of --key from a file (once, or as often as --key, in its order)',
      collect,
    )
    .option('-y, --yes', 'make the target directory if it is not there, without a question')
    .option('-q, --quiet', 'say nothing but errors and warnings')
    .option('--json', 'print one JSON object at the end')
    .action(publish);
}

async function publish(named: string | undefined, options: Options): Promise<void> {
  saveMemory();
  checkTogether(options);
  const prepared = await locatePlaces(named, options);
  if (options.dryRun) {
    prepared.target?.close();
    const { configurationFile } = prepared;
    const { rekey = [], key = [] } = options;
    return sayWhatWouldBeDone({ configurationFile, rekey, bringsKeys: key.length > 0 }, options);
  }
  const last = await readLastPublished(prepared.workspace);
  await confirmOtherTarget(last, prepared, options);
  if (options.protect) await checkClock(nowInSeconds(), clocksOf(prepared));
  await confirmNewTarget(prepared.target, options);
  const passphrase = options.protect ? await readPassphrase(options.passphraseFile) : undefined;
  const signers = await readSigners(options);
  if (options.protect) await warnOfOpenKeys([prepared.workspace.keyStore, prepared.workspace.rootKeys]);
  try {
    const [summary, protection] = await untilSignal(async (signal) => {
      const before =
        passphrase === undefined ? undefined : await protect(prepared, { passphrase, signers, signal }, options);
      return [await notAgain(options, bring(prepared, passphrase, signal, options)), before] as const;
    });
    report(summary, protection, prepared, options);
    if (!options.quiet) for (const line of describeMove(last, prepared)) say(line);
  } finally {
    prepared.target?.close();
  }
}

/** A directory that is not there may be the right one, misspelt, or a disk that is not mounted. */
async function confirmNewTarget(target: Target | undefined, { yes }: Options): Promise<void> {
  const directory = target && missingDirectory(target);
  if (yes || directory === undefined) return;
  if (!canAsk()) {
    throw new UsageError(
      `there is no directory ${directory}`,
      'if it is not misspelt, and no disk is missing, make it, or add --yes, and it is made',
    );
  }
  if (!(await askYesOrNo(`there is no directory ${directory}: make it, and publish there?`)))
    throw new UsageError('nothing was published');
}

/** The key server sends readers to what is published last: who is served from the place before finds nothing there. */
async function confirmOtherTarget(last: LastPublished, prepared: PublicationPlaces, options: Options): Promise<void> {
  const behind = options.yes ? undefined : await leftBehind(last, prepared, options.protect);
  if (behind === undefined) return;
  const what = `the site is at ${behind}, which is not brought this publication: the key server sends readers to it, and new ones, and the reading site, find nothing there any more`;
  const both = 'docs/publishing.md says how to keep two targets';
  if (!canAsk()) throw new UsageError(what, `add --yes if it is to be served from elsewhere from now on; ${both}`);
  say(what);
  say(`hint: ${both}`);
  if (!(await askYesOrNo('publish elsewhere all the same?'))) throw new UsageError('nothing was published');
}

function checkTogether({ protect, passphraseFile, key, rekey, dryRun }: Options): void {
  if (protect) return;
  if (key !== undefined) throw new UsageError('--no-protect signs nothing: leave --key out');
  if (passphraseFile !== undefined)
    throw new UsageError('--no-protect needs no passphrase: leave --passphrase-file out');
  if (rekey !== undefined || dryRun)
    throw new UsageError(`--no-protect and ${dryRun ? '--dry-run' : '--rekey'} do not go together`);
}

async function protect(
  { configuration, configurationFile, target, token }: PublicationPlaces,
  keys: Pick<Parameters<typeof protectSite>[0], 'passphrase' | 'signers' | 'signal'>,
  { quiet, json, rekey = [], keysHandedOver = false }: Options,
): Promise<ProtectSummary> {
  const progress = showProtecting(quiet);
  const summary = await protectSite({
    ...{ configurationFile, rekey, ...keys },
    ...progress.shown,
    // Where the output itself is served, protecting it shows it: its keys have to be there before.
    ...(target === undefined &&
      token !== undefined && {
        handOverKeys: async (bundle) => {
          const { signal } = keys;
          const [keyServer, bytes] = [{ origin: configuration.keyServer, token, signal }, await readFile(bundle)];
          const handingOver = untilStopped(undefined, signal, () =>
            handOverKeys(keyServer, bytes, () => keysHandedOver),
          );
          await notAgain({ rekey }, handingOver);
        },
      }),
  }).finally(progress.end);
  if (!quiet && !json) print(describeProtectionToPublish(summary, token === undefined));
  if (!quiet) for (const line of [...describeRekey(summary), ...hintsAfterProtection(summary)]) say(line);
  for (const line of warnAboutSections(summary.sections)) say(line);
  if (!keysHandedOver) for (const line of warnAboutBundle(summary)) say(line);
  return summary;
}

const NOT_AGAIN = 'leave --rekey out then: the new keys are made already';

/** What fails when new keys were made: who runs the same command again would make others, and encrypt everything once more. */
async function notAgain<Result>({ rekey }: Pick<Options, 'rekey'>, work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    if (!rekey?.length || !canBeReworded(error)) throw error;
    throw reworded(error, error.message, error.hint === undefined ? NOT_AGAIN : `${error.hint}; ${NOT_AGAIN}`);
  });
}

async function bring(
  { configuration, workspace, out, target, token }: PublicationPlaces,
  passphrase: string | undefined,
  signal: AbortSignal,
  { quiet, keysHandedOver = false, replaceNewer = false }: Options,
): Promise<PublishSummary> {
  const progress = quiet ? undefined : showProgress('publishing', 'files');
  return publishSite({
    ...{ workspace, out, signal, replaceNewer, keysAreThere: keysHandedOver, onDoubt: say },
    ...(target && { target }),
    ...(token !== undefined && { keyServer: { origin: configuration.keyServer, token } }),
    ...(passphrase !== undefined && { renewTimestamp: renewerOf(workspace, out, passphrase, nowInSeconds()) }),
    ...(progress && { onProgress: ({ stage, done, total }) => progress.update({ done, total, doing: stage }) }),
  }).finally(() => progress?.end());
}

/** @param protection - what came before; `undefined` with `--no-protect` */
function report(
  summary: PublishSummary,
  protection: ProtectSummary | undefined,
  { configuration }: PublicationPlaces,
  { quiet, json }: Options,
): void {
  if (json) print(JSON.stringify({ ...summary, protection }));
  else if (!quiet) print(describePublishing(summary));
  for (const line of warningsAfterPublishing(summary)) say(line);
  if (!quiet) for (const hint of hintsAfterPublishing(summary, configuration)) say(hint);
  if (summary.keyServerFailure !== undefined) setExitCode(EXIT.failed);
}
