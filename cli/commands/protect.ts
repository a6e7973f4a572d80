import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type ProtectOptions, protectSite } from '../../publisher/protect/protect.ts';
import { placesToWatch, watchSite } from '../../publisher/protect/watch.ts';
import { resolveRoot } from '../../publisher/site/walk.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import { hasKeyServer } from '../../publisher/workspace/configuration/schema.ts';
import { workspaceOf } from '../../publisher/workspace/workspace.ts';
import { collect, locateConfiguration } from '../io/arguments.ts';
import {
  JSON_OPTION,
  type OutputFlags,
  PASSPHRASE_OPTION,
  QUIET_OPTION,
  RESTORED_OPTION,
} from '../io/common-options.ts';
import { readPassphrase, warnOfOpenKeys } from '../io/passphrase.ts';
import { showProtecting } from '../io/progress.ts';
import { untilSignal } from '../io/signals.ts';
import { print, say, UsageError } from '../io/voice.ts';
import { saveMemory } from '../start-frugally.ts';
import {
  describeProtection,
  describeRekey,
  hintsAfterProtection,
  sayWhatWouldBeDone,
  warningsAfterProtection,
} from './protection-summary.ts';
import { readSigners, type SignerFlags } from './signers.ts';
import { ALLOW_REMOVAL_OPTION, type RemovalFlags, removalCheck, tryAgain } from './watching.ts';

interface Flags extends SignerFlags, OutputFlags, RemovalFlags {
  config?: string;
  out?: string;
  passphraseFile?: string;
  dryRun?: boolean;
  rekey?: readonly string[];
  restored?: boolean;
}

const DESCRIPTION = `make the protected form of a site, as its wispr.json says, or bring it up to date: only what changed is written, and readers find the publication before until the new one is complete`;

export function addProtectCommand(program: Command): void {
  program
    .command('protect')
    .summary('encrypt and sign a site, ready for any web host')
    .description(DESCRIPTION)
    .argument('[dir]', 'the directory of wispr.json (default: this one)')
    .option('-c, --config <file>', 'the configuration, if it has another name')
    .option('--out <dir>', 'where to write, in place of "out" in the configuration')
    .option('--dry-run', 'say what would be done, without a passphrase, and do nothing')
    .option('--rekey <set>', 'give a set a new key; repeatable', collect)
    .option(...RESTORED_OPTION)
    .option(...ALLOW_REMOVAL_OPTION)
    .option('--watch', 'go on, and protect again whenever the site changes')
    .option('--key <file>', 'sign with this key file too; repeatable', collect)
    .option(...PASSPHRASE_OPTION)
    .option(
      '--key-passphrase-file <file>',
      'take the passphrase of --key from a file (once, or once for each)',
      collect,
    )
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION)
    .action(protect);
}

async function protect(site: string | undefined, flags: Flags): Promise<void> {
  saveMemory();
  if (flags.watch && flags.dryRun) throw new UsageError('--watch and --dry-run do not go together');
  const configurationFile = locateConfiguration(site, flags.config);
  const configuration = await readConfiguration(configurationFile); // read before a passphrase is typed
  const { out, rekey = [], restored = false } = flags;
  const what = { configurationFile, rekey, ...(out !== undefined && { out: resolve(out) }) };
  if (flags.dryRun) return sayWhatWouldBeDone(what, flags);
  const { keyStore, rootKeys, directory } = workspaceOf(configurationFile);
  const root = resolveRoot(resolve(directory, configuration.source));
  const passphrase = await readPassphrase(flags.passphraseFile);
  await warnOfOpenKeys([keyStore, rootKeys]);
  const signers = await readSigners(flags);
  await untilSignal(async (signal) => {
    const options = { ...what, passphrase, signers, signal, restored, isWithKeyServer: hasKeyServer(configuration) };
    if (!flags.watch) return protectOnce(options, flags);
    await watchSite(placesToWatch(configurationFile), signal, async (times, isSettled) => {
      const again = { ...options, rekey: [], restored: false };
      const flagsAgain = { ...flags, allowRemoval: false };
      if (times > 0) return tryAgain(() => protectOnce(again, flagsAgain, isSettled), flags, signal);
      await protectOnce(options, flags, isSettled);
      if (!flags.quiet) say(`watching ${root}; Ctrl-C ends it`);
      return true;
    });
  });
}

async function protectOnce(
  { isWithKeyServer, ...options }: ProtectOptions & { readonly isWithKeyServer: boolean },
  flags: Flags,
  isSettled?: () => boolean,
): Promise<void> {
  const { json, quiet } = flags;
  const { onProgress, end } = showProtecting(quiet);
  const onRemoval = removalCheck(flags, end, isSettled);
  const summary = await protectSite({ ...options, onProgress, onRemoval }).finally(end);
  if (json) print(JSON.stringify(summary));
  else if (!quiet) print(describeProtection(summary, isWithKeyServer));
  const hints = quiet ? [] : [...describeRekey(summary), ...hintsAfterProtection(summary)];
  for (const line of [...hints, ...warningsAfterProtection(summary)]) say(line);
}
