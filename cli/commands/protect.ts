import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { beginKey } from '../../publisher/keys/early-key.ts';
import { SpareThreads } from '../../publisher/protect/writers/spare-threads.ts';
import { type Workspace, workspaceOf } from '../../publisher/workspace.ts';
import { collect, locateConfiguration } from '../io/arguments.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { UsageError } from '../io/voice.ts';
import { saveMemory } from '../start-frugally.ts';
import type { EarlyStart, ProtectCommandOptions } from './protecting.ts';

const DESCRIPTION = `make the protected form of a site, as its wispr.json says, or bring it up to date: only what changed is written, and readers find the publication before until the new one is complete`;

/** `wispr protect [SITE]` */
export function addProtectCommand(program: Command): void {
  program
    .command('protect')
    .summary('encrypt and sign a site, ready for any web host')
    .description(DESCRIPTION)
    .argument('[dir]', 'the directory of wispr.json (default: this one)')
    .option('-c, --config <file>', 'the configuration, if it has another name')
    .option('--out <dir>', 'where to write, instead of "out" in the configuration; that one is made anew after this')
    .option('--dry-run', 'say what would be done, and do nothing; asks for no passphrase')
    .option('--rekey <set>', 'give a set a new key (more than once for more)', collect)
    .option('--watch', 'go on, and protect again whenever the site changes')
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
    .option('-q, --quiet', 'say nothing but errors and warnings')
    .option('--json', 'print one JSON object at the end')
    .action(protect);
}

/**
 * The rest of the program is loaded once the threads and the key are on their way: that takes them as long as it takes this one, and there is more
 * than one core. Where a site was protected before there is probably little to write, and nothing is started that may not be needed.
 */
async function protect(site: string | undefined, options: ProtectCommandOptions): Promise<void> {
  saveMemory();
  if (options.watch && options.dryRun) throw new UsageError('--watch and --dry-run do not go together');
  const configurationFile = locateConfiguration(site, options.config);
  const workspace = workspaceOf(configurationFile);
  const isFirst = !options.dryRun && !existsSync(workspace.database);
  await using spare = isFirst ? new SpareThreads() : undefined;
  const begun = await beginEarly(workspace, options);
  const { protect: carryOut } = await import('./protecting.ts');
  await carryOut(configurationFile, options, { spare, ...begun });
}

/** A passphrase that is typed comes later: nobody is asked for one before the configuration is known to be good. One in a file is read here only: it may be a pipe. */
async function beginEarly(
  workspace: Workspace,
  { dryRun, passphraseFile }: ProtectCommandOptions,
): Promise<Pick<EarlyStart, 'passphrase' | 'derive'>> {
  if (dryRun || passphraseFile === undefined) return {};
  const passphrase = await readPassphrase(passphraseFile);
  return { passphrase, derive: await beginKey(workspace, passphrase) };
}
