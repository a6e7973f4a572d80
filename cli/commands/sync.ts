/** `wispr sync SITE`: everything that may be read, kept for when there is no network. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  type FailureReason,
  type RefusedSet,
  readerRemedy,
  type SyncOptions,
  type SyncProgress,
  type SyncSummary,
  syncSite,
} from '../../client-proxy/index.ts';
import { isKeyId } from '../../core/crypto/key-id.ts';
import { isSite } from '../../core/site/site.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { count } from '../../publisher/text.ts';
import { JSON_OPTION, type OutputFlags, QUIET_OPTION } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { showProgress } from '../io/progress.ts';
import { untilSignal } from '../io/signals.ts';
import { EXIT, hintLine, print, say, UsageError } from '../io/voice.ts';
import { addConnectionOptions, type ConnectionFlags, connectionOptions, ownOptions } from './reader-options.ts';

type SetSelection = NonNullable<SyncOptions['sets']>;

type Wish = Pick<SyncOptions, 'prefixes' | 'sets'>;

interface SyncFlags extends ConnectionFlags, OutputFlags {
  readonly set?: SetSelection;
}

const DESCRIPTION = `keep a connected site on this machine, for when there is no network

everything that you may read, or what lies below the prefixes; what is here already is not fetched again, and a run that was stopped goes on where it was

what is kept is ciphertext, and is verified when it is read; exit code 1 if a document or its key could not be had, if it is not known whether there is a newer publication, or if nothing there is what was asked for`;

export function addSyncCommand(program: Command): void {
  const command = program
    .command('sync')
    .summary('keep a connected site on this machine, for when there is no network')
    .description(DESCRIPTION)
    .argument('<site>', 'a connected site, like news.example')
    .argument('[prefixes...]', 'only documents whose paths begin so, like /2026/')
    .option('--set <id>', "only this set, by its key id, or 'public'; repeatable", collectSet)
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION);
  addConnectionOptions(command).action(sync);
}

async function sync(named: string, prefixes: readonly string[], flags: SyncFlags): Promise<void> {
  const { set: sets, quiet, json } = flags;
  const wanted = {
    site: siteOf(named),
    ...(prefixes.length > 0 && { prefixes: prefixes.map(prefixOf) }),
    ...(sets && { sets }),
  };
  const options = { ...(await connectionOptions(flags)), ...ownOptions(flags) };
  await untilSignal(async (signal) => {
    const { update, end } = showProgress('fetching', 'documents', quiet);
    const onProgress = ({ step, documents, ofDocuments }: SyncProgress) =>
      update({ doing: step, done: documents, total: step === 'listing' ? undefined : ofDocuments });
    try {
      const summary = await syncSite({ ...options, ...wanted, signal, onProgress });
      end();
      report(summary, wanted, flags);
      if (hasFailed(summary) || fitsNothing(summary)) setExitCode(EXIT.failed);
      if (json) print(JSON.stringify(summary));
    } catch (error) {
      end();
      if (!signal.aborted) throw error;
      say('stopped; what was fetched stays, and the next run goes on from there');
      setExitCode(EXIT.failed);
    }
  });
}

function report(summary: SyncSummary, wish: Wish, { quiet }: SyncFlags): void {
  const lines = [
    ...(quiet ? [] : describeWhatIsHere(summary)),
    ...(fitsNothing(summary) ? [describeMiss(wish, summary)] : []),
    ...(quiet ? [] : describeWhatIsOthers(summary)),
    ...describeTrouble(summary),
  ];
  for (const line of lines) say(line);
}

/** Says that nothing fits. A publication that may not be the newest is named by its number: a newer one may have it. */
function describeMiss({ prefixes = [], sets = [] }: Wish, { failedLook, version }: SyncSummary): string {
  const publication = failedLook ? `publication ${version}, the newest that is here,` : 'the publication';
  const of = [
    ...(sets.length > 0
      ? [`is in ${sets.map((set) => (set === 'public' ? 'public' : `set ${set}`)).join(' or ')}`]
      : []),
    ...(prefixes.length > 0 ? [`has a path that begins with ${prefixes.join(' or ')}`] : []),
  ];
  return of.length === 0 ? `${publication} has no documents` : `no document of ${publication} ${of.join(' and ')}`;
}

/** Accepts the address of its first page, too. */
function siteOf(text: string): string {
  const site = text.toLowerCase().replace(/^https?:\/\/([^/]*)\/?$/, '$1');
  if (isSite(site)) return site;
  throw new UsageError(`${text} is not a site`, 'a site is a host name, like news.example');
}

function prefixOf(text: string): string {
  if (text.startsWith('/')) return text;
  throw new UsageError(`no path begins with ${text}`, `paths begin with a slash: /${text}`);
}

function collectSet(text: string, previous: SetSelection = []): SetSelection {
  if (text !== 'public' && !isKeyId(text))
    throw new InvalidArgumentError("a set is named by its key id, 43 characters, or is 'public'");
  return [...previous, text];
}

/** Number of documents and sets that are named; JSON has all. */
const NAMED = 10;
const AGAIN = 'check the connection, and run "wispr sync" again; what is here already stays';

/**
 * A set that the reader has no right to is no failure; one that is not theirs any more is, and so is one whose key could not be asked for, and
 * a publication or descriptor that may not be the newest.
 */
function hasFailed({ failed, failedLook, failedDescriptor, refused, withoutKey }: SyncSummary): boolean {
  const isNewest = failedLook === undefined && failedDescriptor === undefined;
  return !isNewest || failed.length > 0 || withoutKey.length > 0 || refused.some(isTrouble);
}

function fitsNothing({ failed, refused, withoutKey, here }: SyncSummary): boolean {
  return here.documents + failed.length + refused.length + withoutKey.length === 0;
}

function describeWhatIsHere(summary: SyncSummary): string[] {
  const { site, version, confirmed, here, fetched, readableUntil } = summary;
  return [
    `${site}: ${count(here.documents, 'document')} ${here.documents === 1 ? 'is' : 'are'} here, ${size(here.bytes)}; ${fetched.documents} of them new, ${size(fetched.bytes)}`,
    `publication ${version} of ${utcMinute(confirmed)}, to be read without a network until ${utcMinute(readableUntil)}`,
  ];
}

/** Describes sets that the reader has no right to. They are no errors. */
function describeWhatIsOthers({ refused }: SyncSummary): string[] {
  const others = refused.filter((set) => !isTrouble(set));
  const named = others
    .slice(0, NAMED)
    .map(({ set, documents, code }) => `not yours to read: ${documents} in set ${set} [${code}]`);
  const more = others.length - named.length;
  return more > 0 ? [...named, `not yours to read: ${more} more sets; --json names them`] : named;
}

/** Describes errors, with `--quiet` too. Prints each piece of advice once. */
function describeTrouble(summary: SyncSummary): string[] {
  const { failed, failedLook, failedDescriptor, refused, withoutKey } = summary;
  const documents = failed
    .slice(0, NAMED)
    .map(({ path, code, message }) => `not fetched: ${printable(path)}: ${printable(message)} [${code}]`);
  const more = failed.length - documents.length;
  // Causes usually affect the keys of all sets.
  const keys = [...Map.groupBy([...refused.filter(isTrouble), ...withoutKey], ({ code }) => code).values()];
  const looks = [failedLook, failedDescriptor].filter((one) => one !== undefined);
  return [
    ...(failedLook ? [describeFailure('look for a newer publication', failedLook)] : []),
    ...(failedDescriptor ? [describeFailure('fetch the newest descriptor of the publisher', failedDescriptor)] : []),
    ...documents,
    ...(more > 0 ? [`not fetched: ${more} more; --json names them`] : []),
    ...keys.map(describeKeys),
    ...advice([...looks, ...failed, ...keys.flat()], looks.length > 0 ? AGAIN : undefined),
  ];
}

function describeFailure(what: string, { code, message }: FailureReason): string {
  return `could not ${what}: ${printable(message)} [${code}]`;
}

function isTrouble({ code }: RefusedSet): boolean {
  return code !== 'not-entitled';
}

function describeKeys(sets: readonly RefusedSet[]): string {
  const { set = '', code = '', message = '' } = sets[0] ?? {};
  const documents = count(
    sets.reduce((total, { documents }) => total + documents, 0),
    'document',
  );
  const what =
    sets.length === 1 ? `the key for ${documents} in set ${set}` : `the keys for ${documents} in ${sets.length} sets`;
  const why = code === 'lapsed' ? 'your subscription has ended' : printable(message);
  return `${what} could not be had from the key server: ${why} [${code}]`;
}

/** @param otherwise - where there is none for any of it */
function advice(troubles: readonly { readonly code: string }[], otherwise: string | undefined): string[] {
  const hints = troubles.map(({ code }) => readerRemedy(code)).filter((hint) => hint !== undefined);
  if (hints.length === 0 && otherwise !== undefined) hints.push(otherwise);
  return Array.from(new Set(hints), hintLine);
}
