/** `wispr timestamp` and `wispr withdraw`: a new timestamp for the publication that is there. */
import { join } from 'node:path';
import type { KeyId } from '../../core/keys/key-id.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { checkExpiry, isoTime } from '../../core/publication/verify-roles.ts';
import type { Withdrawal } from '../../core/publication/withdrawals.ts';
import { type FileFacts, signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { replaceFile } from '../keys/file-update.ts';
import { shortId } from '../keys/roots.ts';
import { type LastPublished, withdrawnUnder } from '../last-published.ts';
import { checkSignedInPast } from './future.ts';
import type { LastSeen } from './last-seen.ts';
import { type Published, type RoleState, readPublished } from './published.ts';
import { joinWithdrawn, namedWithdrawn } from './withdrawn.ts';

/** Seconds before the end of a role's validity from which on people are warned. */
export const EXPIRY_WARNING = 30 * 86_400;

const HOUR = 3600;

export interface TimestampOptions {
  /** The directory of the metadata. */
  readonly directory: string;
  readonly signer: RoleSigner;
  /** Whose publication it has to be. */
  readonly rootId: KeyId | undefined;
  /** What was signed last, where that is remembered apart from the directory. */
  readonly last?: LastSeen | undefined;
  /** What a workspace remembers. */
  readonly remembered?: LastPublished | undefined;
  /** Seconds for which the timestamp is good; as long as the last one, if left out. */
  readonly freshFor?: number | undefined;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface SignedTimestamp {
  /** The bytes of `timestamp.json`, which lie in the directory now: for hosts and the key server. */
  readonly bytes: Uint8Array;
  readonly version: number;
  /** Seconds since 1970. */
  readonly expires: number;
  /** The version of the publication that it names. */
  readonly publication: number;
  readonly withdrawn: readonly number[];
  /** What the timestamp before withdrew, and whose it was. */
  readonly before: Withdrawal;
  /** Roles that expire within {@link EXPIRY_WARNING}. */
  readonly expiring: readonly RoleState[];
}

/**
 * Confirms the publication in a directory.
 *
 * @throws PublicationError `publication-withdrawn`, `metadata-expired`, `clock-behind`, `metadata-rollback`, and those of verification;
 * PublishError `publication-missing`, `signer-unknown`, `output-failed`. Nothing was changed then.
 */
export async function signTimestamp(options: TimestampOptions): Promise<SignedTimestamp> {
  const published = await readPublished(options.directory, options.rootId);
  checkMayContinue(published, options);
  for (const { role, expires } of lasting(published)) checkExpiry(role, { expires }, options.now);
  const withdrawn = withdrawnIn(published, options);
  const publication = published.snapshot.version;
  if (withdrawn.includes(publication)) {
    throw new PublicationError(
      'publication-withdrawn',
      `publication ${publication} is withdrawn, and is not confirmed any more`,
      { hint: 'put right what was wrong, and publish a higher version' },
    );
  }
  return sign(published, withdrawn, options);
}

/**
 * Withdraws a version: readers refuse it from their next check on.
 *
 * @throws as {@link signTimestamp}, but for withdrawn and expired publications; PublishError `version-unknown`, `withdrawals-full`
 */
export async function withdrawVersion(version: number, options: TimestampOptions): Promise<SignedTimestamp> {
  const published = await readPublished(options.directory, options.rootId);
  checkMayContinue(published, options);
  const current = published.snapshot.version;
  if (!Number.isSafeInteger(version) || version < 1 || version > current) {
    throw new PublishError('version-unknown', `there is no publication ${version}; the last one is ${current}`, {
      typed: true,
    });
  }
  const withdrawn = namedWithdrawn([...withdrawnIn(published, options), version], current);
  if (withdrawn.includes(version)) return sign(published, withdrawn, options);
  throw new PublishError(
    'withdrawals-full',
    `${withdrawn.length} higher publications than ${version} are withdrawn, and a timestamp names no more`,
  );
}

/**
 * Signs once more what was just signed here, because somebody else has signed in the meantime: newer than theirs, and with what they withdrew.
 *
 * @throws as {@link signTimestamp}, but for withdrawn and expired publications
 */
export async function signNewerThan(
  other: Pick<TimestampMetadata, 'version' | 'withdrawn' | 'snapshot'>,
  options: TimestampOptions,
): Promise<SignedTimestamp> {
  const published = await readPublished(options.directory, options.rootId);
  checkMayContinue(published, options);
  const own = { snapshot: published.timestamp.snapshot, withdrawn: withdrawnIn(published, options) };
  return sign(published, joinWithdrawn(own, other), options, other.version);
}

async function sign(
  published: Published,
  withdrawn: readonly number[],
  { directory, signer, now, freshFor = freshnessOf(published) }: TimestampOptions,
  atLeastAfter = 0,
): Promise<SignedTimestamp> {
  const version = timestampVersion(now, Math.max(published.timestamp.version, atLeastAfter));
  const expires = now + freshFor;
  const { snapshot } = published.timestamp;
  const bytes = signMetadata(timestampMetadata({ version, expires }, snapshot as FileFacts, withdrawn), [signer]);
  await replaceFile(join(directory, TIMESTAMP_FILE), bytes, 0o644);
  const expiring = lasting(published).filter((role) => role.expires < now + EXPIRY_WARNING);
  const before = { keys: published.timestamp.signers, versions: published.timestamp.withdrawn };
  return { bytes, version, expires, publication: snapshot.version, withdrawn, before, expiring };
}

/** For how long the publisher wants timestamps to be good, in whole hours: a version may lie a little after the time of signing. */
function freshnessOf({ timestamp: { expires, version } }: Published): number {
  return Math.max(1, Math.round((expires - version) / HOUR)) * HOUR;
}

/** Everything but the timestamp, which is replaced. */
function lasting({ expiries }: Published): RoleState[] {
  return expiries.filter(({ role }) => role !== 'timestamp');
}

/**
 * What was ever withdrawn stays so, also where somebody put an older file into the directory; but for what keys have withdrawn that are none any
 * more. Not what is still to come, whoever said so.
 */
function withdrawnIn(
  { root, timestamp, snapshot }: Published,
  { last, remembered, signer }: TimestampOptions,
): number[] {
  const signedHere = last && isOwnOrUnknown(last, signer) ? last.withdrawn : [];
  const known = [...timestamp.withdrawn, ...signedHere, ...withdrawnUnder(root, remembered)];
  return namedWithdrawn(known, snapshot.version);
}

/** Whether what a machine remembers is of this key. */
function isOwnOrUnknown({ key }: LastSeen, { keyid }: RoleSigner): boolean {
  return key === undefined || key === keyid;
}

function checkMayContinue(published: Published, { signer, directory, last, now }: TimestampOptions): void {
  const { root, timestamp, snapshot } = published;
  if (!root.roles.timestamp.keyids.includes(signer.keyid)) {
    const message = `the key ${shortId(signer.keyid)} is not a timestamp key of the publication in ${directory}`;
    throw new PublishError('signer-unknown', message, {
      hint: 'after "wispr keys rotate timestamp": run "wispr protect" first, and export the new key where another machine signs',
    });
  }
  // With a new key the versions of timestamps begin anew (TUF, 5.3.11), those of publications do not.
  const isOlder = last && isOwnOrUnknown(last, signer) && timestamp.version < last.timestamp;
  if (last && (isOlder || snapshot.version < last.publication)) {
    throw new PublicationError(
      'metadata-rollback',
      `${directory} holds publication ${snapshot.version}, confirmed at ${isoTime(timestamp.version)}; a later one was confirmed here at ${isoTime(last.timestamp)}`,
    );
  }
  checkSignedInPast(timestamp, now, directory);
}
