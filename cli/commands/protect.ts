import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfiguration } from '../../publisher/configuration/read.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { resolveRoot } from '../../publisher/site/walk.ts';
import { locateConfiguration } from '../locate-configuration.ts';
import { readPassphrase } from '../passphrase.ts';
import { showProgress } from '../progress.ts';
import { describeProtection, hintsAfterProtection } from '../protection-summary.ts';
import { untilSignal } from '../signals.ts';
import { print, say } from '../voice.ts';

interface Options {
  config?: string;
  out?: string;
  passphraseFile?: string;
  quiet?: boolean;
  json?: boolean;
}

/** `wispr protect [SITE]` */
export function addProtectCommand(program: Command): void {
  program
    .command('protect')
    .summary('encrypt and sign a site, ready for any web host')
    .description('make the protected form of a site, as its wispr.json says; a failure leaves everything as it was')
    .argument('[site]', 'the directory of wispr.json (default: this one)')
    .option('-c, --config <file>', 'the configuration, if it has another name')
    .option('--out <dir>', 'where to write, instead of "out" in the configuration')
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option('-q, --quiet', 'say nothing but errors')
    .option('--json', 'print one JSON object at the end')
    .action(protect);
}

async function protect(site: string | undefined, options: Options): Promise<void> {
  const { passphraseFile, out, quiet, json } = options;
  const configurationFile = locateConfiguration(site, options.config);
  const { source } = await readConfiguration(configurationFile); // before anybody types a passphrase
  resolveRoot(resolve(dirname(configurationFile), source));
  const passphrase = await readPassphrase(passphraseFile);
  const progress = quiet ? undefined : showProgress('protecting', 'documents');
  const summary = await untilSignal((signal) =>
    protectSite({
      configurationFile,
      passphrase,
      signal,
      ...(out !== undefined && { out: resolve(out) }),
      ...(progress && { onProgress: progress.update }),
    }),
  ).finally(() => progress?.end());
  if (json) print(JSON.stringify(summary));
  else if (!quiet) print(describeProtection(summary));
  if (!quiet) for (const hint of hintsAfterProtection(summary)) say(hint);
}
