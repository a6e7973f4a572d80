/** Whether what a target has was made elsewhere: newer than what is to be published, or another of the same number. Nothing of that is replaced. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile, RootMetadata, SignedTimestamp, TimestampMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import {
  verifyFirstRoot,
  verifyNextRoot,
  verifyOwnSnapshot,
  verifySnapshot,
  verifyTimestamp,
} from '../../core/publication/verify-roles.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { readBounded } from '../publication/places.ts';
import { fileOfRole } from '../publication/roles.ts';
import { ifGood, rootsOf, underAny } from '../publication/roots.ts';
import { publishCommand } from './publish-command.ts';

export const TIMESTAMP_PATH = METADATA_PATH + TIMESTAMP_FILE;

export interface OwnAndThere {
  readonly out: string;
  readonly target: Target;
  /** The one in `out`. */
  readonly publication: OpenedPublication;
  /** Goes on where only a timestamp key that is none any more says that there is something newer: it was stolen. */
  readonly replaceNewer?: boolean;
  /** The root that the target has to have; that of the publication, if left out. */
  readonly rootThere?: number;
}

/** A timestamp that our own root's keys have signed: its bytes, and what they say. */
export interface CheckedTimestamp {
  readonly bytes: Uint8Array;
  readonly timestamp: SignedTimestamp;
}

/**
 * Makes sure that the target is ours, and has nothing that was made elsewhere.
 *
 * @returns the timestamp there, if it is a good one
 * @throws PublishError `target-foreign`, `target-newer`, `target-forked`
 */
export async function checkNotNewer(places: OwnAndThere): Promise<CheckedTimestamp | undefined> {
  const { target, publication, replaceNewer = false } = places;
  await checkRoots(places);
  const bytes = await readBounded(target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  const there = bytes && timestampIfGood(bytes, publication);
  if (there) await checkSnapshot(there.timestamp, places);
  else if (bytes && !replaceNewer) await checkUnderEarlierRoots(bytes, places);
  return there;
}

/**
 * Makes sure that nobody has put another publication of this number there, be it finished or not. Own runs that were interrupted leave none: a
 * number is used for one publication only. Whatever the snapshot's key has not signed is damage, and put right.
 *
 * @throws PublishError `target-forked`
 */
export async function checkNumberIsFree({ out, target, publication: { state } }: OwnAndThere): Promise<void> {
  const { version } = state.snapshot;
  const path = fileOfRole('snapshot', version);
  const file = await target.head(path);
  if (!file || (await target.holds(file, { file: join(out, path) }))) return;
  const bytes = await readBounded(target, path, PUBLICATION_LIMITS.snapshotLength);
  const other = bytes && ifGood(() => verifyOwnSnapshot(bytes, state.root, READER_OPTIONS));
  // Any host has other snapshots of ours, and can put them there.
  if (other?.version === version) throw forked(anotherPublication(target, version), goOnThere(target));
}

/**
 * Makes sure that the publication in `out` is at the target, up to its timestamp: readers who are told of one that is not have none any more.
 *
 * @throws PublishError `target-behind`
 */
export async function checkIsThere({ target, publication: { place, state }, rootThere }: OwnAndThere): Promise<void> {
  // What is put last; all else is there by then.
  const root = fileOfRole('root', rootThere ?? state.root.version);
  for (const path of [root, fileOfRole('snapshot', state.snapshot.version)]) {
    const own = await place.read(path, PUBLICATION_LIMITS.snapshotLength);
    const there = own && (await readBounded(target, path, own.length));
    if (!own || !there || !equalBytes(own, there)) throw behind(target, state.snapshot.version);
  }
}

/** A timestamp that our own root's keys have signed; anything else is as if it were not there. */
export function timestampIfGood(bytes: Uint8Array, { state }: OpenedPublication): CheckedTimestamp | undefined {
  const timestamp = timestampUnder(bytes, state.root);
  return timestamp && { bytes, timestamp };
}

/**
 * The timestamp that the target shows, if our own keys have signed it, now or once.
 *
 * @throws StorageError
 */
export async function timestampShown(
  target: Target,
  publication: OpenedPublication,
): Promise<SignedTimestamp | undefined> {
  const bytes = await readBounded(target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  if (bytes === undefined) return undefined;
  const verify = (root: RootMetadata) => verifyTimestamp(bytes, root, undefined, READER_OPTIONS);
  return underAny(await rootsOf(publication), verify);
}

/** From the newest down: where one is the same, those below are what it came from, and where there is none, it has still to be sent. */
async function checkRoots({ out, target, publication }: OwnAndThere): Promise<void> {
  const { root } = publication.state;
  const there = (version: number) => readBounded(target, fileOfRole('root', version), PUBLICATION_LIMITS.rootLength);
  const own = (version: number) => readFile(join(out, fileOfRole('root', version)));
  const first = await there(1);
  if (first && !equalBytes(await own(1), first) && isFirstRoot(first)) throw foreign(target);
  const newest = await newestRoot(root, there);
  if (newest.version > root.version && !(await isOwnRoot(out, newest.version, await there(newest.version))))
    throw newerRoot(target, newest, root);
  const roots = await rootsOf(publication);
  for (const [index, { version }] of roots.slice(0, -1).entries()) {
    const bytes = await there(version);
    if (bytes && equalBytes(await own(version), bytes)) return;
    const before = roots[index + 1] as RootMetadata;
    if (bytes && rootAfter(before, bytes) && !saysTheSame(bytes, await own(version)))
      throw forked(`${target.name} has another root ${version} than this`, NOBODY_ELSE);
  }
}

/** Whether its own keys have signed it: it is some publisher's then. Else it is ours that was damaged, or a later one in its place. */
function isFirstRoot(bytes: Uint8Array): boolean {
  return ifGood(() => verifyFirstRoot(bytes, READER_OPTIONS))?.version === 1;
}

/** It may lie in `out` already, where the publication is one from before that: docs/keys.md, "Withdrawing a publication". */
async function isOwnRoot(out: string, version: number, bytes: Uint8Array | undefined): Promise<boolean> {
  const own = await readIfThere(join(out, fileOfRole('root', version)));
  return own !== undefined && bytes !== undefined && equalBytes(own, bytes);
}

/** What our own root's keys do not sign is anybody's. */
function rootAfter(root: RootMetadata, bytes: Uint8Array): RootMetadata | undefined {
  return ifGood(() => verifyNextRoot(bytes, root, READER_OPTIONS));
}

/** The last that follows ours: as many as readers would follow. */
async function newestRoot(
  root: RootMetadata,
  there: (version: number) => Promise<Uint8Array | undefined>,
): Promise<RootMetadata> {
  let newest = root;
  while (newest.version < root.version + PUBLICATION_LIMITS.rootRotations) {
    const bytes = await there(newest.version + 1);
    const next = bytes && rootAfter(newest, bytes);
    if (next === undefined) break;
    newest = next;
  }
  return newest;
}

/** One root may have been finished with the signatures of some here, and of others there. */
function saysTheSame(one: Uint8Array, other: Uint8Array): boolean {
  return equalBytes(openEnvelope(one, 'root').message, openEnvelope(other, 'root').message);
}

/** Readers who saw a higher one take nothing older, so it counts whether it is there or not. */
async function checkSnapshot({ snapshot }: TimestampMetadata, places: OwnAndThere): Promise<void> {
  const overtaken = await overtakenBy(snapshot, places);
  if (overtaken === undefined) return;
  if (await isThere(snapshot, places)) throw overtaken;
  if (snapshot.version > places.publication.state.snapshot.version) throw claimed(snapshot, places);
}

/**
 * With keys that have been replaced here, somebody else may have gone on without knowing of that. What was only claimed, and is not there,
 * comes from somebody who stole the timestamp key.
 */
async function checkUnderEarlierRoots(bytes: Uint8Array, places: OwnAndThere): Promise<void> {
  const [, ...earlier] = await rootsOf(places.publication);
  for (const root of earlier) {
    const timestamp = timestampUnder(bytes, root);
    if (timestamp === undefined) continue;
    const overtaken = await overtakenBy(timestamp.snapshot, places);
    if (overtaken && (await isThere(timestamp.snapshot, places)))
      throw new PublishError(overtaken.code, `${overtaken.message}, confirmed with a key that has been replaced here`, {
        hint: `${overtaken.hint}; if whoever stole that key made it, add --replace-newer`,
      });
    return;
  }
}

async function overtakenBy(
  { version, sha256 }: MetaFile,
  { out, target, publication }: OwnAndThere,
): Promise<PublishError | undefined> {
  const own = publication.state.timestamp.snapshot;
  const hint = goOnThere(target);
  if (version > own.version)
    return newer(`${target.name} has publication ${version}, and this is ${own.version}`, hint);
  if (sha256 === own.sha256) return undefined;
  // One that was removed here since, because it is so old, cannot be compared; nor can one that somebody else has changed.
  const bytes = await readIfThere(join(out, fileOfRole('snapshot', version)));
  if (bytes === undefined || (await hexDigest(bytes)) === sha256) return undefined;
  const verify = (root: RootMetadata) => verifyOwnSnapshot(bytes, root, READER_OPTIONS);
  if ((await underAny(await rootsOf(publication), verify))?.version !== version) return undefined;
  return forked(anotherPublication(target, version), hint);
}

/** Whether a snapshot can be had that our keys have signed, now or once. */
async function isThere(expected: MetaFile, { target, publication }: OwnAndThere): Promise<boolean> {
  const most = Math.min(expected.length ?? 0, PUBLICATION_LIMITS.snapshotLength);
  const bytes = await readBounded(target, fileOfRole('snapshot', expected.version), most);
  if (bytes === undefined) return false;
  const verify = (root: RootMetadata) => verifySnapshot(bytes, root, expected, READER_OPTIONS);
  return (await underAny(await rootsOf(publication), verify)) !== undefined;
}

function timestampUnder(bytes: Uint8Array, root: RootMetadata): SignedTimestamp | undefined {
  return ifGood(() => verifyTimestamp(bytes, root, undefined, READER_OPTIONS));
}

const GO_ON_THERE =
  'publish from where that was made; or bring its publisher.keys here, and its "out" in the place of the one here, and publish then';

function goOnThere({ name }: Target): string {
  return `${GO_ON_THERE}; where that is lost, make a whole copy of ${name}, see that "wispr verify COPY --root ID" finds nothing corrupted or missing in it, put it in the place of "out" here, and publish then`;
}

/** Readers who were shown it take nothing older, as long as its key is good: only another key ends that. */
function claimed({ version }: MetaFile, { target, publication: { state } }: OwnAndThere): PublishError {
  const what = `the timestamp at ${target.name} names publication ${version}, which is not there, and this is ${state.timestamp.snapshot.version}`;
  const hint = `see with "wispr verify" of a copy what is there; if somebody of yours has made publication ${version}, ${GO_ON_THERE}; if nobody has, somebody else has your timestamp key: "wispr keys rotate timestamp", and publish then`;
  return new PublishError('target-newer', what, { hint });
}

function foreign({ name }: Target): PublishError {
  return new PublishError('target-foreign', `${name} holds the site of another publisher, and was not touched`, {
    hint: 'name another target, or remove what is there',
  });
}

function anotherPublication({ name }: Target, version: number): string {
  return `${name} has another publication ${version} than was made here`;
}

function newerRoot({ name }: Target, { version }: RootMetadata, own: RootMetadata): PublishError {
  return newer(`${name} has root ${version}, and this has ${own.version}`, NOBODY_ELSE);
}

/** Below a root, only the keys sign that it names. */
const NOBODY_ELSE = `${GO_ON_THERE}; without those keys, nobody can sign below that root`;

function newer(what: string, hint: string): PublishError {
  return new PublishError('target-newer', `somebody else has published: ${what}`, { hint });
}

function forked(what: string, hint: string): PublishError {
  return new PublishError('target-forked', `somebody else has published from a copy of this workspace: ${what}`, {
    hint,
  });
}

function behind({ name }: Target, version: number): PublishError {
  return new PublishError(
    'target-behind',
    `publication ${version} is not at ${name}, or not all of it, so it cannot be confirmed there`,
    {
      hint: `run "${publishCommand(name)}" first; then run the same command again`,
    },
  );
}
