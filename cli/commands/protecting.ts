/** `wispr protect`, once it is known which site: everything that has much to load. */
import { dirname, resolve } from 'node:path';
import { readConfiguration } from '../../publisher/configuration/read.ts';
import type { ProtectOptions } from '../../publisher/protect/prepare.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { resolveRoot } from '../../publisher/site/walk.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import { readPassphrase, warnOfOpenKeys } from '../io/passphrase.ts';
import { showProtecting } from '../io/progress.ts';
import { untilSignal } from '../io/signals.ts';
import { explain, print, say } from '../io/voice.ts';
import { sayWhatWouldBeDone } from './dry-run.ts';
import {
  describeProtection,
  describeRekey,
  hintsAfterProtection,
  warningsAfterProtection,
} from './protection-summary.ts';
import { readSigners, type SignerFlags } from './signers.ts';
import { type Watched, watchSite } from './watch.ts';

/** What `wispr protect` was told. */
export interface ProtectCommandOptions extends SignerFlags {
  config?: string;
  out?: string;
  passphraseFile?: string;
  dryRun?: boolean;
  rekey?: readonly string[];
  watch?: boolean;
  quiet?: boolean;
  json?: boolean;
}

/** What was begun for the first run while this was being loaded. */
export interface EarlyStart extends Pick<ProtectOptions, 'derive' | 'spare'> {
  /** Out of `--passphrase-file`. */
  readonly passphrase?: string;
}

export async function protect(
  configurationFile: string,
  options: ProtectCommandOptions,
  { passphrase: read, ...early }: EarlyStart,
): Promise<void> {
  const { out, rekey = [] } = options;
  const { source } = await readConfiguration(configurationFile); // before anybody types a passphrase
  const directory = resolveRoot(resolve(dirname(configurationFile), source));
  const what = { configurationFile, rekey, ...(out !== undefined && { out: resolve(out) }) };
  if (options.dryRun) return sayWhatWouldBeDone({ ...what, bringsKeys: options.key !== undefined }, options);
  const passphrase = read ?? (await readPassphrase(undefined));
  const { keyStore, rootKeys } = workspaceOf(configurationFile);
  await warnOfOpenKeys([keyStore, rootKeys]);
  const signers = await readSigners(options);
  await untilSignal(async (signal) => {
    const first = () => protectOnce({ ...what, passphrase, signers, signal, ...early }, options);
    if (!options.watch) return first();
    const protectAndSay = async (times: number) => {
      if (times > 0) return protectAgain({ ...what, rekey: [], passphrase, signers, signal }, options);
      await first();
      if (!options.quiet) say(`watching ${directory}; Ctrl-C ends it`);
    };
    await watchSite(placesToWatch(configurationFile), signal, protectAndSay, say);
  });
}

/** What is read each time, as the configuration names it now; as it named it last, while it cannot be read. Links are not resolved: they may lead elsewhere next time. */
function placesToWatch(configurationFile: string): () => Promise<Watched> {
  const inWorkspace = (path: string) => resolve(dirname(configurationFile), path);
  let known: Watched | undefined;
  return async () => {
    try {
      const { source, recipient, fallback } = await readConfiguration(configurationFile);
      const files = [recipient, ...(fallback.template === undefined ? [] : [fallback.template])].map(inWorkspace);
      known = { directory: inWorkspace(source), files: [configurationFile, ...files] };
    } catch (error) {
      if (known === undefined) throw error;
    }
    return known;
  };
}

async function protectOnce(
  what: Parameters<typeof protectSite>[0],
  { json, quiet }: ProtectCommandOptions,
): Promise<void> {
  const progress = showProtecting(quiet);
  const summary = await protectSite({ ...what, ...progress.shown }).finally(progress.end);
  if (json) print(JSON.stringify(summary));
  else if (!quiet) print(describeProtection(summary));
  if (!quiet) {
    for (const line of [...describeRekey(summary), ...hintsAfterProtection(summary)]) say(line);
  }
  for (const line of warningsAfterProtection(summary)) say(line);
}

/** While the site is being worked on, what is wrong with it now may be right in a moment. */
async function protectAgain(what: Parameters<typeof protectSite>[0], options: ProtectCommandOptions): Promise<void> {
  try {
    await protectOnce(what, options);
  } catch (error) {
    if (what.signal?.aborted) return; // it was told to stop
    explain(error);
    if (!options.quiet) say('still watching: the next change has it tried again');
  }
}
