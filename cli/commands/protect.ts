import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfiguration } from '../../publisher/configuration/read.ts';
import { type Progress, planSite, protectSite } from '../../publisher/protect/protect.ts';
import { resolveRoot } from '../../publisher/site/walk.ts';
import { locateConfiguration } from '../locate-configuration.ts';
import { readPassphrase } from '../passphrase.ts';
import { type ShownProgress, showProgress } from '../progress.ts';
import { describeDryRun, describeProtection, describeRekey, hintsAfterProtection } from '../protection-summary.ts';
import { saveMemory } from '../save-memory.ts';
import { untilSignal } from '../signals.ts';
import { explain, print, say, UsageError } from '../voice.ts';
import { watchSite } from '../watch.ts';

interface Options {
  config?: string;
  out?: string;
  passphraseFile?: string;
  dryRun?: boolean;
  rekey?: string[];
  watch?: boolean;
  quiet?: boolean;
  json?: boolean;
}

const DESCRIPTION = `make the protected form of a site, as its wispr.json says, or bring it up to date: only what changed is written, and readers find the publication before until the new one is complete`;

/** Paths of each kind that a dry run shows to people. */
const SHOWN_PATHS = 10;

/** `wispr protect [SITE]` */
export function addProtectCommand(program: Command): void {
  program
    .command('protect')
    .summary('encrypt and sign a site, ready for any web host')
    .description(DESCRIPTION)
    .argument('[site]', 'the directory of wispr.json (default: this one)')
    .option('-c, --config <file>', 'the configuration, if it has another name')
    .option('--out <dir>', 'where to write, instead of "out" in the configuration')
    .option('--dry-run', 'say what would be done, and do nothing; asks for no passphrase')
    .option('--rekey <set>', 'give a set a new key (more than once for more)', (set, sets: string[] = []) => [
      ...sets,
      set,
    ])
    .option('--watch', 'go on, and protect again whenever the site changes')
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option('-q, --quiet', 'say nothing but errors')
    .option('--json', 'print one JSON object at the end')
    .action(protect);
}

async function protect(site: string | undefined, options: Options): Promise<void> {
  saveMemory();
  const { passphraseFile, out, rekey = [] } = options;
  if (options.watch && options.dryRun) throw new UsageError('--watch and --dry-run do not go together');
  const configurationFile = locateConfiguration(site, options.config);
  const { source } = await readConfiguration(configurationFile); // before anybody types a passphrase
  const directory = resolveRoot(resolve(dirname(configurationFile), source));
  const what = { configurationFile, rekey, ...(out !== undefined && { out: resolve(out) }) };
  if (options.dryRun) return dryRun(what, options);
  const passphrase = await readPassphrase(passphraseFile);
  await untilSignal(async (signal) => {
    await protectOnce({ ...what, passphrase, signal }, options);
    if (!options.watch) return;
    if (!options.quiet) say(`watching ${directory}; Ctrl-C ends it`);
    await watchSite([directory, configurationFile], signal, () => {
      return protectAgain({ ...what, rekey: [], passphrase, signal }, options);
    });
  });
}

async function dryRun(what: Parameters<typeof planSite>[0], { json, quiet }: Options): Promise<void> {
  const progress = quiet ? undefined : showProgress('looking', 'documents');
  const limit = json ? undefined : SHOWN_PATHS;
  const summary = await planSite({ ...what, ...shownBy(progress) }, limit).finally(() => progress?.end());
  print(json ? JSON.stringify(summary) : describeDryRun(summary));
}

async function protectOnce(what: Parameters<typeof protectSite>[0], { json, quiet }: Options): Promise<void> {
  const progress = quiet ? undefined : showProgress('protecting', 'documents');
  const summary = await protectSite({ ...what, ...shownBy(progress) }).finally(() => progress?.end());
  if (json) print(JSON.stringify(summary));
  else if (!quiet) print(describeProtection(summary));
  if (quiet) return;
  for (const line of describeRekey(summary)) say(line);
  for (const hint of hintsAfterProtection(summary)) say(hint);
}

/** While the site is being worked on, what is wrong with it now may be right in a moment. */
async function protectAgain(what: Parameters<typeof protectSite>[0], options: Options): Promise<void> {
  try {
    await protectOnce(what, options);
  } catch (error) {
    if (what.signal?.aborted) throw error;
    explain(error);
  }
}

function shownBy(progress: ShownProgress | undefined): { onProgress?: (state: Progress) => void } {
  if (progress === undefined) return {};
  return {
    onProgress: ({ stage, done, total }) =>
      progress.update({ done, total, doing: stage === 'looking' ? 'looking' : 'protecting' }),
  };
}
