/** `wispr sync SITE`: everything that may be read, kept for when there is no network. */
import { type Command, InvalidArgumentError } from 'commander';
import { type SyncOptions, type SyncProgress, type SyncSummary, syncSite } from '../../client-proxy/index.ts';
import { isKeyId } from '../../core/keys/key-id.ts';
import { isSite } from '../../core/site/site.ts';
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { count } from '../../publisher/text.ts';
import { addCacheOption, type CacheFlags, cacheOptions } from '../cache-options.ts';
import { addParentProxyOptions, type ParentProxyFlags, parentProxyOptions } from '../parent-proxy.ts';
import { showProgress } from '../progress.ts';
import { addReaderOptions, type ReaderFlags, readerOptions } from '../reader-options.ts';
import { untilSignal } from '../signals.ts';
import { EXIT, print, say, UsageError } from '../voice.ts';
import { isoDay, utcMinute } from './describe.ts';

type WantedSets = NonNullable<SyncOptions['sets']>;

type Wish = Pick<SyncOptions, 'prefixes' | 'sets'>;

interface SyncFlags extends ReaderFlags, CacheFlags, ParentProxyFlags {
  readonly set?: WantedSets;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

const DESCRIPTION = `keep a connected site on this machine, for when there is no network

everything that you may read, or what lies below the prefixes; what is here already is not fetched again, and a run that was stopped goes on where it was

what is kept is ciphertext, and is verified when it is read; exit code 1 if a document could not be had, or if nothing there is what was asked for`;

/** So many documents are named; JSON has all. */
const NAMED = 10;

export function addSyncCommand(program: Command): void {
  const command = program
    .command('sync')
    .summary('keep a connected site on this machine, for when there is no network')
    .description(DESCRIPTION)
    .argument('<site>', 'a connected site, like news.example')
    .argument('[prefixes...]', 'only documents whose paths begin so, like /2026/')
    .option('--set <id>', "only this set, by its key id, or 'public'; may be repeated", collectSet)
    .option('-q, --quiet', 'say nothing unless something is wrong')
    .option('--json', 'print the summary as one JSON object');
  addReaderOptions(addCacheOption(addParentProxyOptions(command))).action(sync);
}

async function sync(named: string, prefixes: readonly string[], flags: SyncFlags): Promise<void> {
  const { set: sets, quiet, json } = flags;
  const wanted = {
    site: siteOf(named),
    ...(prefixes.length > 0 && { prefixes: prefixes.map(prefixOf) }),
    ...(sets && { sets }),
    ...(await parentProxyOptions(flags)),
  };
  const options = { ...(await readerOptions(flags)), ...cacheOptions(flags) };
  await untilSignal(async (signal) => {
    const progress = quiet ? undefined : showSyncing();
    try {
      const summary = await syncSite({
        ...options,
        ...wanted,
        signal,
        ...(progress && { onProgress: progress.update }),
      });
      progress?.end();
      tell(summary, wanted, flags);
      if (hasFailed(summary)) process.exitCode = EXIT.failed;
      if (json) print(JSON.stringify(summary));
    } catch (error) {
      progress?.end();
      if (!signal.aborted) throw error;
      say('stopped; what was fetched stays, and the next run goes on from there');
      process.exitCode = EXIT.failed;
    }
  });
}

function showSyncing(): { update: (progress: SyncProgress) => void; end: () => void } {
  const { update, end } = showProgress('fetching', 'documents');
  return {
    update: ({ step, documents, ofDocuments }) =>
      update({ doing: step, done: documents, total: step === 'listing' ? undefined : ofDocuments }),
    end,
  };
}

function tell(summary: SyncSummary, wish: Wish, { quiet }: SyncFlags): void {
  const { failed, refused } = summary;
  if (!quiet) tellWhatIsHere(summary);
  if (fitsNothing(summary)) say(describeMiss(wish));
  for (const { path, code, message } of failed.slice(0, NAMED))
    say(`not fetched: ${printable(path)}: ${printable(message)} [${code}]`);
  if (failed.length > NAMED) say(`not fetched: ${failed.length - NAMED} more; --json names them`);
  if (quiet) return;
  for (const { set, documents, code } of refused.slice(0, NAMED))
    say(`not yours to read: ${documents} in set ${set} [${code}]`);
  if (refused.length > NAMED) say(`not yours to read: ${refused.length - NAMED} more sets; --json names them`);
}

function tellWhatIsHere({ site, version, confirmed, here, fetched, readableUntil }: SyncSummary): void {
  say(
    `${site}: ${count(here.documents, 'document')} ${here.documents === 1 ? 'is' : 'are'} here, ${size(here.bytes)}; ${fetched.documents} of them new, ${size(fetched.bytes)}`,
  );
  say(`publication ${version} of ${utcMinute(confirmed)}, to be read without a network until ${isoDay(readableUntil)}`);
}

/** A set that the reader has no right to is no failure; one whose key could not be asked for is, and so is a wish that nothing fits. */
function hasFailed(summary: SyncSummary): boolean {
  const { failed, refused } = summary;
  if (failed.length > 0 || refused.some(({ code }) => code !== 'not-entitled')) return true;
  return fitsNothing(summary);
}

function fitsNothing({ failed, refused, here }: SyncSummary): boolean {
  return here.documents + failed.length + refused.length === 0;
}

function describeMiss({ prefixes = [], sets = [] }: Wish): string {
  const of = [
    ...(sets.length > 0
      ? [`is in ${sets.map((set) => (set === 'public' ? 'public' : `set ${set}`)).join(' or ')}`]
      : []),
    ...(prefixes.length > 0 ? [`has a path that begins with ${prefixes.join(' or ')}`] : []),
  ];
  return of.length === 0 ? 'the publication has no documents' : `no document of the publication ${of.join(' and ')}`;
}

/** Also by the address of its first page. */
function siteOf(text: string): string {
  const site = text.toLowerCase().replace(/^https?:\/\/([^/]*)\/?$/, '$1');
  if (isSite(site)) return site;
  throw new UsageError(`${text} is not a site`, { hint: 'a site is a host name, like news.example' });
}

function prefixOf(text: string): string {
  if (text.startsWith('/')) return text;
  throw new UsageError(`no path begins with ${text}`, { hint: `paths begin with a slash: /${text}` });
}

function collectSet(text: string, previous: WantedSets = []): WantedSets {
  if (text !== 'public' && !isKeyId(text))
    throw new InvalidArgumentError("a set is named by its key id, 43 characters, or is 'public'");
  return [...previous, text];
}
