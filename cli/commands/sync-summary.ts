/** What `wispr sync` did, for people: what is here, and of what is not, why, and what to do about it. */
import { type FailureReason, type RefusedSet, readerRemedy, type SyncSummary } from '../../client-proxy/index.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { size } from '../../node-support/size.ts';
import { count } from '../../publisher/text.ts';
import { hintLine } from '../io/voice.ts';

/** So many documents and sets are named; JSON has all. */
const NAMED = 10;
const AGAIN = 'check the connection, and run "wispr sync" again; what is here already stays';

/**
 * A set that the reader has no right to is no failure; one that is not theirs any more is, and so is one whose key could not be asked for, and
 * a publication or descriptor that may not be the newest.
 */
export function hasFailed({ failed, failedLook, failedDescriptor, refused, withoutKey }: SyncSummary): boolean {
  const isNewest = failedLook === undefined && failedDescriptor === undefined;
  return !isNewest || failed.length > 0 || withoutKey.length > 0 || refused.some(isTrouble);
}

export function fitsNothing({ failed, refused, withoutKey, here }: SyncSummary): boolean {
  return here.documents + failed.length + refused.length + withoutKey.length === 0;
}

export function describeWhatIsHere(summary: SyncSummary): string[] {
  const { site, version, confirmed, here, fetched, readableUntil } = summary;
  return [
    `${site}: ${count(here.documents, 'document')} ${here.documents === 1 ? 'is' : 'are'} here, ${size(here.bytes)}; ${fetched.documents} of them new, ${size(fetched.bytes)}`,
    `publication ${version} of ${utcMinute(confirmed)}, to be read without a network until ${utcMinute(readableUntil)}`,
  ];
}

/** Describes sets that the reader has no right to. They are no errors. */
export function describeWhatIsOthers({ refused }: SyncSummary): string[] {
  const others = refused.filter((set) => !isTrouble(set));
  const named = others
    .slice(0, NAMED)
    .map(({ set, documents, code }) => `not yours to read: ${documents} in set ${set} [${code}]`);
  const more = others.length - named.length;
  return more > 0 ? [...named, `not yours to read: ${more} more sets; --json names them`] : named;
}

/** Describes errors, with `--quiet` too. Prints each piece of advice once. */
export function describeTrouble(summary: SyncSummary): string[] {
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
