/** What is said of a withdrawal by place: who has it, who does not, and why. */
import { CodedError, reasonOf } from '../core/errors.ts';
import { PublicationError } from '../core/publication/errors.ts';
import { shellWord } from '../node-support/printable.ts';
import { StorageError } from '../node-support/storage/errors.ts';
import { systemCode } from '../node-support/system-error.ts';
import { PublishError } from '../publisher/errors.ts';
import { reworded } from '../publisher/publish/bring-failures.ts';
import type { Brought } from '../publisher/publish/bring-urgently.ts';
import type { NotShown } from '../publisher/publish/choose-publication.ts';
import { isUnreachable } from '../publisher/publish/key-server.ts';
import type { KeyServerSays } from '../publisher/publish/key-server-says.ts';
import type { Place, Unfinished } from '../publisher/published-places.ts';
import type { PublicationPlaces } from './publication-places.ts';

/** How messages name a place. */
export function nameOf({ target, out }: Pick<PublicationPlaces, 'target' | 'out'>): string {
  return target?.name ?? out;
}

/** What is known of the key server where nothing was signed. */
interface AtKeyServer {
  /** Its origin. */
  readonly keyServer: string;
  /** Whether there is a token for it. */
  readonly canTell: boolean;
  readonly says: KeyServerSays | 'it';
}

/** The version that was to be withdrawn is at none of its places, and so nothing was signed. */
export function notOut(
  version: number,
  all: readonly (NotShown & { readonly places: PublicationPlaces })[],
  { keyServer, canTell, says }: AtKeyServer,
): PublishError {
  if (says === 'it') return canTell ? goneHere(version, all, keyServer) : onlyThere(version, all, keyServer);
  const isSure = says !== 'unknown';
  const isBegun = all.some((one) => one.begun !== undefined);
  const unsure = isSure ? '' : '; the key server does not say whether it has it';
  const here = isBegun ? '; here it counts as withdrawn' : isSure ? ': nobody has it' : '';
  const later = isBegun && isSure ? '; if it appears there after all, run the same command again' : '';
  const change = `change what was wrong before you run "${all[0]?.places.publishAgain}"${later}`;
  const gone = `; one that is gone for good is given up with "wispr withdraw ${version} --gone ${keyServer}"`;
  return new PublishError('version-unknown', `publication ${version} is not ${whereOf(all)}${unsure}${here}`, {
    hint: isSure ? change : `run the same command again when it does; ${change}${gone}`,
  });
}

function whereOf(all: readonly (NotShown & { readonly places: PublicationPlaces })[]): string {
  return all.map(({ places, shown }) => `at ${nameOf(places)}, which shows ${shown}`).join(', nor ');
}

/** Who has no token can tell it nothing. */
function onlyThere(version: number, all: Parameters<typeof notOut>[1], keyServer: string): PublishError {
  const message = `publication ${version} is not ${whereOf(all)}; but the key server ${keyServer} has it, and was told nothing; here it counts as withdrawn`;
  return new PublishError('version-unknown', message, {
    hint: 'run the same command again with its token, by "keyServerTokenFile" in wispr.json or --token-file',
  });
}

/** What is not here cannot be signed for. */
function goneHere(version: number, all: Parameters<typeof notOut>[1], keyServer: string): PublishError {
  const message = `publication ${version} is not ${whereOf(all)}; but the key server ${keyServer} has it, and what was signed for it is not here any more; here it counts as withdrawn`;
  return new PublishError('version-unknown', message, {
    hint: `a higher publication ends it: "${all[0]?.places.publishAgain}", with the token of the key server; or bring back the "out" that has it, and run the same command again`,
  });
}

/** What became of it at a place. */
interface AtPlace {
  readonly places: PublicationPlaces;
  readonly signed: unknown;
  readonly hasIt: boolean;
  readonly brought: Brought | undefined;
  /** Why the place, or the key server, does not have it. */
  readonly error: unknown;
}

interface ByPlace {
  readonly has: readonly AtPlace[];
  readonly failed: readonly AtPlace[];
  readonly closed: readonly { readonly place: Place; readonly error: unknown }[];
  /** With which the key server was told. */
  readonly telling: AtPlace | undefined;
  /** A key server that does not answer. */
  readonly silent: string | undefined;
}

/** There is nothing to tell it. */
export function hasLater(keyServer: string, version: number): string {
  return `the key server ${keyServer} has publication ${version}, which is later, and is told nothing; the next "wispr publish" with its token names what is withdrawn`;
}

/** What it may confirm is not known, nor of what it can be told; or what it has is nowhere that could be asked. */
export function notTold(keyServer: string, says: KeyServerSays): PublishError {
  if (says === 'unknown')
    return new PublishError('key-server-unreachable', `the key server ${keyServer} does not say what it has`);
  return new PublishError('version-unknown', `what the key server ${keyServer} may be told of could not be signed`);
}

/** Whether it answers again nobody knows but the publisher. */
export function orGivenUp(error: unknown, version: number, keyServer: string): unknown {
  if (!(error instanceof PublishError || error instanceof StorageError)) return error;
  return reworded(error, error.message, `${goneForGood(version, [keyServer])}; else ${error.hint}`);
}

function goneForGood(version: number, names: readonly string[]): string {
  const ways = names.map((name) => `"wispr withdraw ${version} --gone ${shellWord(name)}"`);
  return `what is gone for good is given up with ${ways.join(', ')}`;
}

/** What kept it from some of its places, or from the key server. */
export function notEverywhere(version: number, { has, failed, closed, telling, silent }: ByPlace): unknown {
  const without = failed.filter(({ hasIt }) => !hasIt);
  const reasons = [
    ...without.map(({ places, brought, error }) => [nameOf(places), brought?.failure ?? error] as const),
    ...closed.map(({ place, error }) => [place ?? '"out"', error] as const),
  ];
  const refusal = telling?.brought?.refusal;
  const errors = [
    ...reasons.map(([, error]) => error),
    ...(refusal ? [refusal] : []),
    ...(reasons.length === 0 && !refusal ? failed.map(({ error }) => error) : []),
  ];
  const unforeseen = errors.find((error) => !(error instanceof CodedError || systemCode(error)));
  if (unforeseen !== undefined) return unforeseen;
  const first = errors.find(isRewordable);
  const told = telling?.brought?.isTold ? ['the key server was told'] : [];
  const isSigned = [...failed, ...has, ...(telling ? [telling] : [])].some(({ signed }) => signed !== undefined);
  const where = has.length > 0 ? `, and at ${has.map(({ places }) => nameOf(places)).join(' and ')}` : '';
  const done = [isSigned ? `it is signed${where}` : 'nothing was signed', ...told].join('; ');
  const missing = [
    ...reasons.map(([name, error]) => `not at ${name}: ${reasonOf(error)}`),
    ...(refusal ? [refusal.message] : []),
  ];
  const message = `${done}; but ${missing.join('; and ')}`;
  const hint = waysOn(
    version,
    [
      ...reasons.filter(([, error]) => mayBeGone(error)).map(([name]) => name),
      ...(silent === undefined ? [] : [silent]),
    ],
    [...new Set(errors.map((error) => (error instanceof CodedError ? error.hint : undefined)))],
  );
  return first === undefined ? errors[0] : reworded(first, message, hint);
}

function isRewordable(error: unknown): error is PublishError | StorageError | PublicationError {
  return [PublishError, StorageError, PublicationError].some((kind) => error instanceof kind);
}

/** Whether it may be for the place that it failed, which may never come back: not for a passphrase, or who else is at work. */
function mayBeGone(error: unknown): boolean {
  if (error instanceof StorageError) return true;
  return error instanceof PublishError && (error.code.startsWith('target-') || isUnreachable(error));
}

/** The same command goes on; what is gone for good can be given up. */
function waysOn(version: number, names: readonly string[], hints: readonly (string | undefined)[]): string {
  const mending = hints
    .filter((hint) => hint !== undefined)
    .map((hint) => hint.replace(', or name another directory', '').replace(/; then run the same command again$/, ''));
  const again = 'run the same command again when that is mended: it goes on with what is left';
  const give = names.length > 0 ? `; ${goneForGood(version, names)}` : '';
  return [...mending, `${again}${give}`].join('; then ');
}

/** Who is to have a withdrawal still. @param keyServer - its origin */
function owedBy({ places, atKeyServer }: Unfinished, keyServer = 'the key server'): string {
  return [...places.map((place) => place ?? '"out"'), ...(atKeyServer ? [keyServer] : [])].join(', ');
}

/** What is withdrawn, and not with everybody. */
export function describeUnfinished(unfinished: readonly Unfinished[]): string[] {
  return unfinished.flatMap((one) => [
    `publication ${one.version} is withdrawn, but that was not brought to everybody who is to have it: ${owedBy(one)}`,
    `hint: run "wispr withdraw ${one.version}" again: it finishes that${one.atKeyServer ? ', with the token of the key server; one that was never told, or is gone for good, is given up with "--gone" and its origin' : ''}`,
  ]);
}
