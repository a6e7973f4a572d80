import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { nowInSeconds } from '../../node-support/clock.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { handOverKeys } from '../../publisher/publish/key-server.ts';
import { type PublishSummary, publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { readPassphrase } from '../passphrase.ts';
import { showProgress } from '../progress.ts';
import { describeProtection, describeRekey, hintsAfterProtection } from '../protection-summary.ts';
import { locatePlaces, type PublicationPlaces } from '../publication-places.ts';
import { describePublishing, hintsAfterPublishing } from '../publish-summary.ts';
import { saveMemory } from '../save-memory.ts';
import { untilSignal } from '../signals.ts';
import { print, say, UsageError } from '../voice.ts';

interface Options {
  config?: string;
  protect: boolean;
  tokenFile?: string;
  keysHandedOver?: boolean;
  passphraseFile?: string;
  quiet?: boolean;
  json?: boolean;
}

const DESCRIPTION = `protect the site, and bring it to where it is served, in the one safe order: keys to the key server, documents, metadata, and last the file that makes them visible

TARGET is a directory or s3://BUCKET/PREFIX; credentials for a bucket come from the environment or ~/.aws, as for every program of Amazon's
whatever interrupts it, readers find the publication before, and the next run goes on`;

/** `wispr publish [TARGET]` */
export function addPublishCommand(program: Command): void {
  program
    .command('publish')
    .summary('protect a site, and bring it to its web host')
    .description(DESCRIPTION)
    .argument('[target]', 'where to (default: "publish" in wispr.json, or else just "out")')
    .option('-c, --config <file>', 'the configuration, or its directory (default: this one)')
    .option('--no-protect', 'publish what is in "out" as it is; asks for no passphrase')
    .option('--token-file <file>', 'the file with the publishing token of the key server')
    .option('--keys-handed-over', 'go on without a token: the key server was given keys.bundle by hand')
    .option('--passphrase-file <file>', 'take the passphrase from a file instead of asking for it')
    .option('-q, --quiet', 'say nothing but errors')
    .option('--json', 'print one JSON object at the end')
    .action(publish);
}

async function publish(named: string | undefined, options: Options): Promise<void> {
  saveMemory();
  if (!options.protect && options.passphraseFile !== undefined)
    throw new UsageError('--no-protect needs no passphrase: leave --passphrase-file out');
  const prepared = await locatePlaces(named, options);
  const passphrase = options.protect ? await readPassphrase(options.passphraseFile) : undefined;
  try {
    const summary = await untilSignal(async (signal) => {
      if (passphrase !== undefined) await protect(prepared, passphrase, signal, options);
      return bring(prepared, passphrase, signal, options);
    });
    report(summary, options);
  } finally {
    prepared.target?.close();
  }
}

async function protect(
  { configuration, configurationFile, target, token }: PublicationPlaces,
  passphrase: string,
  signal: AbortSignal,
  { quiet, json }: Options,
): Promise<void> {
  const progress = quiet ? undefined : showProgress('protecting', 'documents');
  const summary = await protectSite({
    ...{ configurationFile, passphrase, signal },
    // Where the output itself is served, protecting it shows it: its keys have to be there before.
    ...(target === undefined &&
      token !== undefined && {
        handOverKeys: async (bundle) =>
          handOverKeys({ origin: configuration.keyServer, token }, await readFile(bundle)),
      }),
    ...(progress && {
      onProgress: ({ stage, done, total }) =>
        progress.update({ done, total, doing: stage === 'looking' ? 'looking' : 'protecting' }),
    }),
  }).finally(() => progress?.end());
  if (quiet) return;
  if (!json) print(describeProtection(summary));
  for (const line of [...describeRekey(summary), ...hintsAfterProtection(summary)]) say(line);
}

async function bring(
  { configuration, workspace, out, target, token }: PublicationPlaces,
  passphrase: string | undefined,
  signal: AbortSignal,
  { quiet, keysHandedOver = false }: Options,
): Promise<PublishSummary> {
  const progress = quiet ? undefined : showProgress('publishing', 'files');
  return publishSite({
    ...{ workspace, out, signal, keysAreThere: keysHandedOver },
    ...(target && { target }),
    ...(token !== undefined && { keyServer: { origin: configuration.keyServer, token } }),
    ...(passphrase !== undefined && { renewTimestamp: renewerOf(workspace, out, passphrase, nowInSeconds()) }),
    ...(progress && { onProgress: ({ stage, done, total }) => progress.update({ done, total, doing: stage }) }),
  }).finally(() => progress?.end());
}

function report(summary: PublishSummary, { quiet, json }: Options): void {
  if (json) print(JSON.stringify(summary));
  else if (!quiet) print(describePublishing(summary));
  if (!quiet) for (const hint of hintsAfterPublishing(summary)) say(hint);
}
