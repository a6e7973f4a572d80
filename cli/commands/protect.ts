import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { readConfiguration } from '../../publisher/configuration/read.ts';
import { openSigners } from '../../publisher/keys/open-signers.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { resolveRoot } from '../../publisher/site/walk.ts';
import { sayWhatWouldBeDone } from '../dry-run.ts';
import { locateConfiguration } from '../locate-configuration.ts';
import { readPassphrase } from '../passphrase.ts';
import { showProtecting } from '../progress.ts';
import {
  describeProtection,
  describeRekey,
  hintsAfterProtection,
  warningsAfterProtection,
} from '../protection-summary.ts';
import { saveMemory } from '../save-memory.ts';
import { untilSignal } from '../signals.ts';
import { explain, print, say, UsageError } from '../voice.ts';
import { watchSite } from '../watch.ts';

interface Options {
  config?: string;
  out?: string;
  passphraseFile?: string;
  key?: readonly string[];
  keyPassphraseFile?: string;
  dryRun?: boolean;
  rekey?: readonly string[];
  watch?: boolean;
  quiet?: boolean;
  json?: boolean;
}

const DESCRIPTION = `make the protected form of a site, as its wispr.json says, or bring it up to date: only what changed is written, and readers find the publication before until the new one is complete`;

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
    .option('--rekey <set>', 'give a set a new key (more than once for more)', collect)
    .option('--watch', 'go on, and protect again whenever the site changes')
    .option(
      '--key <file>',
      "sign with this key file too: a section's, or a second signer's (more than once for more)",
      collect,
    )
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option('--key-passphrase-file <file>', 'take the passphrase of --key from a file')
    .option('-q, --quiet', 'say nothing but errors and warnings')
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
  if (options.dryRun) return sayWhatWouldBeDone(what, options);
  const passphrase = await readPassphrase(passphraseFile);
  const signers = await readSigners(options);
  await untilSignal(async (signal) => {
    await protectOnce({ ...what, passphrase, signers, signal }, options);
    if (!options.watch) return;
    if (!options.quiet) say(`watching ${directory}; Ctrl-C ends it`);
    await watchSite([directory, configurationFile], signal, () => {
      return protectAgain({ ...what, rekey: [], passphrase, signers, signal }, options);
    });
  });
}

/** The values of an option that may be given more than once. */
export function collect(value: string, values: readonly string[] = []): readonly string[] {
  return [...values, value];
}

/** The keys of `--key`. */
export async function readSigners({
  key = [],
  keyPassphraseFile,
}: Pick<Options, 'key' | 'keyPassphraseFile'>): Promise<RoleSigner[]> {
  const missing = key.find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new UsageError(`there is no ${missing}`, { hint: 'name the key file of a signer: --key FILE' });
  return openSigners(key, (file) => {
    return readPassphrase(keyPassphraseFile, `passphrase of ${file}`, '--key-passphrase-file');
  });
}

async function protectOnce(what: Parameters<typeof protectSite>[0], { json, quiet }: Options): Promise<void> {
  const progress = showProtecting(quiet);
  const summary = await protectSite({ ...what, ...progress.shown }).finally(progress.end);
  if (json) print(JSON.stringify(summary));
  else if (!quiet) print(describeProtection(summary));
  if (!quiet) for (const line of [...describeRekey(summary), ...hintsAfterProtection(summary)]) say(line);
  for (const line of warningsAfterProtection(summary)) say(line);
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
