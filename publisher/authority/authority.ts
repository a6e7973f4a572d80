/** The authority that says which publication of a site is current: docs/spec/publication.md, section 8, rules R1 to R5. */
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import {
  isoTime,
  type MetaFile,
  parseTimestamp,
  type RootMetadata,
  type TimestampMetadata,
} from '../../core/publication/metadata.ts';
import { verifyOwnTimestamp } from '../../core/publication/verify-roles.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import { findSnapshot, type SignedSnapshot, underAny } from '../publication/signed.ts';
import type { PublicationSource } from '../publication/sources.ts';

export interface CurrentTimestamp {
  /** `timestamp.json`, byte for byte. */
  readonly bytes: Uint8Array;
  readonly timestamp: TimestampMetadata;
}

/** Says which publication of the site is current. Exactly one per site. */
export interface TimestampAuthority {
  /**
   * The last timestamp that the authority signed; `undefined` before the first publication.
   *
   * @throws PublishError `key-server-refused`
   */
  current(): Promise<CurrentTimestamp | undefined>;
  /**
   * Makes a publication current, or confirms it again. Its state is on the disk before the timestamp is returned: this is the commit point of a
   * publication. Repeating it is safe.
   *
   * @returns the bytes of `timestamp.json`
   * @throws PublishError `publication-older`, `publication-other`, `key-server-refused`, `key-server-unreachable`, `output-failed`;
   * PublicationError `clock-off`
   */
  confirm(snapshot: SignedSnapshot): Promise<Uint8Array>;
  /** Takes note of a timestamp that was found at a target: what is signed from then on is above it. */
  learn(found: CurrentTimestamp): Promise<void>;
}

/** @throws PublicationError `metadata-malformed` */
export function readTimestamp(bytes: Uint8Array): CurrentTimestamp & { readonly signers: readonly string[] } {
  const envelope = openEnvelope(bytes, 'timestamp');
  return {
    bytes,
    timestamp: parseTimestamp(envelope.signed()),
    signers: envelope.signatures.map(({ keyid }) => keyid),
  };
}

/**
 * Verifies a timestamp in the form that is kept and put at targets.
 *
 * @param roots - of this site, the newest first
 * @returns `undefined` if no key of these roots has signed it
 */
export async function verifiedTimestamp(
  bytes: Uint8Array,
  roots: readonly RootMetadata[],
): Promise<CurrentTimestamp | undefined> {
  const timestamp = await underAny(roots, (root) => verifyOwnTimestamp(bytes, root, READER_OPTIONS));
  return timestamp && { bytes, timestamp };
}

/**
 * Reads the timestamp at a place, if keys of these roots have signed it and the snapshot that it names: a timestamp alone does not count, for its
 * key makes no publication.
 *
 * @param roots - of this site, the newest first
 */
export async function shownAt(
  place: PublicationSource,
  roots: readonly RootMetadata[],
): Promise<(CurrentTimestamp & { readonly snapshot: SignedSnapshot }) | undefined> {
  const bytes = await place.read(TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
  const found = bytes && (await verifiedTimestamp(bytes, roots));
  const snapshot = found && (await findSnapshot(found.timestamp.snapshot, [place], roots));
  return snapshot && { ...found, snapshot };
}

/** Tells whether a timestamp was signed in the future by this machine's clock (P8): such a timestamp is ignored. */
export function isOfFuture({ version }: Pick<TimestampMetadata, 'version'>, now: number): boolean {
  return version > now + PUBLICATION_LIMITS.clockTolerance;
}

/**
 * Refuses a timestamp of the future: a timestamp signed after it would have to be later still.
 *
 * @param name - how the message names the timestamp
 * @throws PublicationError `clock-off`
 */
export function checkSignedInPast(timestamp: Pick<TimestampMetadata, 'version'>, now: number, name: string): void {
  if (!isOfFuture(timestamp, now)) return;
  const times = `${isoTime(timestamp.version)}; this machine's clock says ${isoTime(now)}`;
  throw new PublicationError(
    'clock-off',
    `${name} was signed at ${times}. If this clock is right, "wispr keys rotate timestamp" and "wispr publish" begin anew`,
  );
}

/**
 * Checks R1: no version goes back, and one number is one publication.
 *
 * @param seen - the snapshot that is current
 * @param mine - the one that is to become current
 * @param who - who has `seen`, for the message
 * @throws PublishError `publication-older`, `publication-other`
 */
export function checkOrder(seen: MetaFile, mine: MetaFile, who: string): void {
  if (mine.version > seen.version || mine.sha256 === seen.sha256) return;
  if (mine.version < seen.version) throw publicationOlder(seen.version, mine.version, who);
  throw publicationOther(mine.version, who);
}

export function publicationOlder(current: number, mine: number, who: string): PublishError {
  return new PublishError('publication-older', `publication ${mine} is older than ${current}, which ${who} has`, {
    fields: { version: mine, current },
  });
}

export function publicationOther(version: number, who: string): PublishError {
  const message = `${who} has another publication ${version}: another copy of this workspace has published it`;
  return new PublishError('publication-other', message, { fields: { version } });
}

/** Tells whether an error reports a higher publication, or another one of the same number. */
export function isOrderError(error: unknown): boolean {
  return error instanceof PublishError && ['publication-older', 'publication-other'].includes(error.code);
}
