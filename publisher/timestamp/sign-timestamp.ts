/** `wispr timestamp` and `wispr withdraw`: a new timestamp for the publication that is there. */
import type { KeyId } from '../../core/keys/key-id.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { checkExpiry, isoTime } from '../../core/publication/verify-roles.ts';
import type { Withdrawal } from '../../core/publication/withdrawals.ts';
import { type FileFacts, signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { shortId } from '../keys/roots.ts';
import { withdrawnUnder } from '../last-published.ts';
import type { OwnMetadata } from '../publication/places.ts';
import type { LastPublished } from '../published-places.ts';
import { checkSignedInPast } from './future.ts';
import { isOfKey, type LastSeen, withdrawnElsewhere, withdrawnHere } from './last-seen.ts';
import { type Published, type RoleState, readPublished } from './published.ts';
import { joinWithdrawn, namedWithdrawn } from './withdrawn.ts';

/** Seconds before the end of a role's validity from which on people are warned. */
export const EXPIRY_WARNING = 30 * 86_400;

const HOUR = 3600;

export interface TimestampOptions {
  /** The metadata that it is for. */
  readonly own: OwnMetadata;
  readonly signer: RoleSigner;
  /** Whose publication it has to be. */
  readonly rootId: KeyId | undefined;
  /** The SHA-256 of the snapshot that it is to be for; whatever is there, if left out. */
  readonly snapshot?: string | undefined;
  /** What was signed last, where that is remembered apart from the directory. */
  readonly last?: LastSeen | undefined;
  /** What a workspace remembers. */
  readonly remembered?: LastPublished | undefined;
  /** Called when it is signed, and before anybody can see it. */
  readonly beforeUse?: ((signed: SignedTimestamp) => Promise<void>) | undefined;
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
  /** What the timestamp before withdrew, and this one has no room for. */
  readonly dropped: readonly number[];
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
  const published = await readPublished(options.own, options.rootId);
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
 * @throws as {@link signTimestamp}, but for withdrawn and expired publications; PublishError `version-unknown`, `withdrawals-full`,
 * `workspace-busy` where another publication lies there by now
 */
export async function withdrawVersion(version: number, options: TimestampOptions): Promise<SignedTimestamp> {
  const published = await readPublished(options.own, options.rootId);
  checkMayContinue(published, options);
  if (options.snapshot !== undefined && published.timestamp.snapshot.sha256 !== options.snapshot)
    throw new PublishError('workspace-busy', `another wispr has protected the site into ${options.own.name} meanwhile`);
  const current = published.snapshot.version;
  if (!Number.isSafeInteger(version) || version < 1 || version > current) {
    throw notMadeHere(version, current);
  }
  const withdrawn = withdrawnIn(published, options, [version]);
  if (withdrawn.includes(version)) return sign(published, withdrawn, options);
  throw new PublishError(
    'withdrawals-full',
    `${withdrawn.length} higher publications than ${version} are withdrawn, and a timestamp names no more`,
    {
      hint: 'if "wispr keys list" shows some that nobody here has withdrawn, somebody else has your timestamp key: "wispr keys rotate timestamp"',
    },
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
  const published = await readPublished(options.own, options.rootId);
  checkMayContinue(published, options);
  const own = { snapshot: published.timestamp.snapshot, withdrawn: withdrawnIn(published, options) };
  return sign(published, joinWithdrawn(own, other), options, other.version);
}

async function sign(
  published: Published,
  withdrawn: readonly number[],
  { own, signer, now, beforeUse, freshFor = freshnessOf(published) }: TimestampOptions,
  atLeastAfter = 0,
): Promise<SignedTimestamp> {
  const version = timestampVersion(now, Math.max(published.timestamp.version, atLeastAfter));
  const expires = now + freshFor;
  const { snapshot } = published.timestamp;
  const bytes = signMetadata(timestampMetadata({ version, expires }, snapshot as FileFacts, withdrawn), [signer]);
  const expiring = lasting(published).filter((role) => role.expires < now + EXPIRY_WARNING);
  const before = { keys: published.timestamp.signers, versions: published.timestamp.withdrawn };
  const dropped = before.versions.filter((each) => !withdrawn.includes(each));
  const signed = { bytes, version, expires, publication: snapshot.version, withdrawn, dropped, before, expiring };
  await beforeUse?.(signed);
  await own.replaceTimestamp(bytes);
  return signed;
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
  now: readonly number[] = [],
): number[] {
  const own = [...now, ...withdrawnHere(last, signer.keyid), ...(remembered?.withdrawn ?? [])];
  const found = withdrawnElsewhere(last, signer.keyid);
  const others = [...timestamp.withdrawn, ...found, ...withdrawnUnder(root, remembered)];
  return namedWithdrawn({ own, others }, snapshot.version);
}

function checkMayContinue(published: Published, { signer, own, last, now }: TimestampOptions): void {
  const { root, timestamp, snapshot } = published;
  if (!root.roles.timestamp.keyids.includes(signer.keyid)) throw noTimestampKey(signer, own.name);
  // With a new key the versions of timestamps begin anew (TUF, 5.3.11), those of publications do not.
  const isOlder = last && isOfKey(last, signer.keyid) && timestamp.version < last.timestamp;
  if (last && (isOlder || snapshot.version < last.publication)) {
    throw new PublicationError(
      'metadata-rollback',
      `${own.name} holds publication ${snapshot.version}, confirmed at ${isoTime(timestamp.version)}; a later one was confirmed here at ${isoTime(last.timestamp)}`,
    );
  }
  checkSignedInPast(timestamp, now, own.name);
}

export function notMadeHere(version: number, current: number): PublishError {
  return new PublishError('version-unknown', `there is no publication ${version} here; the last one is ${current}`, {
    typed: true,
    hint: '"wispr keys list" shows the last one; what was made on another machine is withdrawn there, or here with its "out" and publisher.keys',
  });
}

/** @param directory - where the publication is that it was to sign for */
export function noTimestampKey({ keyid }: RoleSigner, directory: string): PublishError {
  const message = `the key ${shortId(keyid)} is not a timestamp key of the publication in ${directory}`;
  return new PublishError('signer-unknown', message, {
    hint: 'after "wispr keys rotate timestamp": run "wispr protect" first, and export the new key where another machine signs',
  });
}
