import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { type CheckedSite, checkSite } from '../../publisher/check/check-site.ts';
import { describeCheck, describeVerdict } from '../../publisher/check/report.ts';
import { CONFIGURATION_FILE } from '../../publisher/workspace/workspace.ts';
import { locateConfiguration } from '../io/arguments.ts';
import { JSON_OPTION, type OutputFlags } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { showProgress } from '../io/progress.ts';
import { EXIT, print, say } from '../io/voice.ts';
import { saveMemory } from '../start-frugally.ts';

interface Options extends OutputFlags {
  config?: string;
}

const DESCRIPTION = `check a site before it is encrypted: what stays public and why, and what would break for readers, such as missing links, links with the site's own host, and forms

needs no passphrase and writes nothing; exit code 3 if something breaks`;

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .summary('find what would break for readers')
    .description(DESCRIPTION)
    .argument(
      '[dir]',
      'the directory of wispr.json (default: this one), or of a site without one, for which the defaults stand',
    )
    .option('-c, --config <file>', 'the configuration, if it has another name')
    .option('-q, --quiet', 'say only what breaks')
    .option(...JSON_OPTION)
    .action(check);
}

async function check(site: string | undefined, { config, quiet, json }: Options): Promise<void> {
  saveMemory();
  const place = locate(site, config);
  if ('directory' in place && !quiet)
    say(`${site} has no ${CONFIGURATION_FILE}: its files are checked with the defaults`);
  const { update, end } = showProgress('checking', 'documents', quiet);
  const report = await checkSite({ ...place, onProgress: update }).finally(end);
  if (json) print(JSON.stringify(report));
  else for (const block of describeCheck(report, { quiet: quiet === true })) print(block);
  if (!quiet && !json) say(describeVerdict(report));
  if (report.groups.some(({ breaks }) => breaks)) setExitCode(EXIT.found);
}

/** A site is taken for itself only where it was named: elsewhere, `wispr.json` is missing by mistake. */
function locate(named: string | undefined, config: string | undefined): CheckedSite {
  const isBare = named !== undefined && config === undefined && existsSync(join(named, '.'));
  if (isBare && !existsSync(join(named, CONFIGURATION_FILE))) return { directory: resolve(named) };
  return { configurationFile: locateConfiguration(named, config) };
}
