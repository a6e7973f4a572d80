/**
 * The checks of each role's metadata, in the order of TUF specification section 5; step numbers stand at each. Bytes are untrusted: they
 * are bounded by the caller, compared with the hash above them where there is one, and their signatures checked before their content is looked at.
 */
import { hexDigest } from '../encoding/digest.ts';
import { checkDelegations, type Delegator } from './delegations.ts';
import { checkSignatures, type Envelope, openEnvelope } from './envelope.ts';
import { PublicationError } from './errors.ts';
import { areTufKeyIds, type SignatureVerifier } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import {
  isoTime,
  type MetaFile,
  parseRoot,
  parseSnapshot,
  parseTargets,
  parseTimestamp,
  type RootMetadata,
  type SnapshotMetadata,
  sameFile,
  type TargetsMetadata,
  type TimestampMetadata,
} from './metadata.ts';

/** Checks that differ between a reader of a bound site and a client of any TUF repository. */
export interface RoleChecks {
  readonly verify: SignatureVerifier;
  /** Tells whether metadata have to name length and SHA-256 of those below them (P4), and consistent snapshots are demanded. */
  readonly strict: boolean;
}

/**
 * A root that is trusted for another reason than its signatures: it was given, or it is the one that a host proof names.
 *
 * @throws PublicationError
 */
export async function verifyFirstRoot(bytes: Uint8Array, options: RoleChecks): Promise<RootMetadata> {
  checkLength(bytes, PUBLICATION_LIMITS.rootLength, 'root');
  const envelope = openEnvelope(bytes, 'root');
  const root = parseRoot(envelope.signed());
  await checkRootSignatures(envelope, root, options);
  return checkConsistent(root, options);
}

/** 5.3.4 and 5.3.5: the successor of a trusted root. */
export async function verifyNextRoot(
  bytes: Uint8Array,
  trusted: RootMetadata,
  options: RoleChecks,
): Promise<RootMetadata> {
  checkLength(bytes, PUBLICATION_LIMITS.rootLength, 'root');
  const envelope = await checkRootSignatures(openEnvelope(bytes, 'root'), trusted, options);
  const root = parseRoot(envelope.signed());
  await checkRootSignatures(envelope, root, options);
  if (root.version !== trusted.version + 1)
    throw rollback(`root has version ${root.version} where ${trusted.version + 1} has to be`);
  return checkConsistent(root, options);
}

/** 5.4.2: a timestamp that this root's keys have signed. */
export async function verifyOwnTimestamp(
  bytes: Uint8Array,
  root: RootMetadata,
  { verify, strict }: RoleChecks,
): Promise<TimestampMetadata> {
  checkLength(bytes, PUBLICATION_LIMITS.timestampLength, 'timestamp');
  const { keys, roles } = root;
  const envelope = await checkSignatures(openEnvelope(bytes, 'timestamp'), 'timestamp', roles.timestamp, keys, verify);
  const timestamp = parseTimestamp(envelope.signed());
  if (strict) checkComplete(timestamp.snapshot, 'snapshot');
  return timestamp;
}

/**
 * 5.4.2 and 5.4.3.
 *
 * @param newest - the newest snapshot that was seen, where the timestamp before was lost
 * @returns `undefined` if it is not newer than `previous`, which stays
 */
export async function verifyTimestamp(
  bytes: Uint8Array,
  root: RootMetadata,
  previous: TimestampMetadata | undefined,
  options: RoleChecks,
  newest?: SnapshotMetadata,
): Promise<TimestampMetadata | undefined> {
  const timestamp = await verifyOwnTimestamp(bytes, root, options);
  if (previous && timestamp.version < previous.version)
    throw rollback(`timestamp ${timestamp.version} is older than ${previous.version}, which was seen before`);
  const seen = previous?.snapshot.version ?? newest?.version ?? 0;
  if (timestamp.snapshot.version < seen)
    throw rollback(`the timestamp names publication ${timestamp.snapshot.version}, and ${seen} was seen before`);
  return timestamp.version === previous?.version ? undefined : timestamp;
}

/** P8. Versions of foreign repositories are no times. */
export function checkNotFuture({ version }: TimestampMetadata, now: number, { strict }: RoleChecks): void {
  if (!strict || version <= now + PUBLICATION_LIMITS.clockTolerance) return;
  throw new PublicationError(
    'clock-off',
    `the publication was confirmed at ${isoTime(version)}, by the clock of who signed its timestamp; this machine's clock says ${isoTime(now)}`,
  );
}

/** P7; with a grace of 0, step 5.4.4. */
export function checkTimestampExpiry({ expires }: TimestampMetadata, now: number, grace: number): void {
  if (now < expires + grace) return;
  throw new PublicationError(
    'publication-expired',
    `the publication was to be confirmed again by ${isoTime(expires)}; this machine's clock says ${isoTime(now)}`,
  );
}

/** 5.5.2 to 5.5.5. */
export async function verifySnapshot(
  bytes: Uint8Array,
  root: RootMetadata,
  expected: MetaFile,
  options: RoleChecks,
  previous?: SnapshotMetadata,
): Promise<SnapshotMetadata> {
  await checkFile(bytes, expected, 'snapshot');
  const snapshot = await verifyOwnSnapshot(bytes, root, options);
  if (snapshot.version !== expected.version) throw wrongVersion('snapshot', snapshot.version, expected.version);
  for (const [role, before] of previous?.roles ?? []) checkSuccessor(role, before, snapshot.roles.get(role), options);
  return snapshot;
}

/** P5 for one file that a snapshot names. */
function checkSuccessor(role: string, before: MetaFile, now: MetaFile | undefined, { strict }: RoleChecks): void {
  const { version } = before;
  if (now === undefined) throw rollback(`${role} has vanished from the snapshot`);
  if (now.version < version)
    throw rollback(`the snapshot names version ${now.version} of ${role}, and ${version} was seen before`);
  if (strict && now.version === version && !sameFile(before, now))
    throw rollback(`the snapshot names another version ${version} of ${role} than was seen before`);
}

/** A snapshot that this reader kept: only its signatures are checked. */
export async function verifyOwnSnapshot(
  bytes: Uint8Array,
  root: RootMetadata,
  { verify, strict }: RoleChecks,
): Promise<SnapshotMetadata> {
  checkLength(bytes, PUBLICATION_LIMITS.snapshotLength, 'snapshot');
  const { keys, roles } = root;
  const envelope = await checkSignatures(openEnvelope(bytes, 'snapshot'), 'snapshot', roles.snapshot, keys, verify);
  const snapshot = parseSnapshot(envelope.signed());
  if (strict) for (const [role, file] of snapshot.roles) checkComplete(file, role);
  return snapshot;
}

/** 5.6.2 to 5.6.4, for `targets` and every delegated role. */
export async function verifyTargets(
  bytes: Uint8Array,
  role: string,
  by: Delegator,
  expected: MetaFile,
  options: RoleChecks,
): Promise<TargetsMetadata> {
  await checkFile(bytes, expected, role);
  const envelope = await checkSignatures(openEnvelope(bytes, role), role, by.roleKeys, by.keys, options.verify);
  const targets = parseTargets(envelope.signed(), role);
  if (targets.version !== expected.version) throw wrongVersion(role, targets.version, expected.version);
  if (options.strict) checkDelegations(role, targets, by);
  return targets;
}

/** 5.3.10, 5.4.4, 5.5.6, 5.6.5. */
export function checkExpiry(role: string, { expires }: { readonly expires: number }, now: number): void {
  if (now < expires) return;
  throw new PublicationError(
    'metadata-expired',
    `${role} expired on ${isoTime(expires)}; this machine's clock says ${isoTime(now)}`,
  );
}

function checkRootSignatures(
  envelope: Envelope,
  { roles, keys }: RootMetadata,
  { verify }: RoleChecks,
): Promise<Envelope> {
  return checkSignatures(envelope, 'root', roles.root, keys, verify);
}

function checkConsistent(root: RootMetadata, { strict }: RoleChecks): RootMetadata {
  if (!strict) return root;
  if (!areTufKeyIds([...root.keys.keys(), ...Object.values(root.roles).flatMap(({ keyids }) => keyids)]))
    throw new PublicationError('metadata-malformed', 'the root has keys whose ids are none');
  if (root.consistentSnapshot) return root;
  throw new PublicationError('metadata-malformed', 'the root does not promise consistent snapshots');
}

async function checkFile(bytes: Uint8Array, { length, sha256: hash }: MetaFile, role: string): Promise<void> {
  const good =
    (length === undefined || bytes.length === length) && (hash === undefined || (await hexDigest(bytes)) === hash);
  if (!good) throw new PublicationError('metadata-mismatch', `${role} is not the file that the metadata above it name`);
}

/** P4. */
function checkComplete({ length, sha256: hash }: MetaFile, role: string): void {
  if (length !== undefined && hash !== undefined) return;
  throw new PublicationError('metadata-mismatch', `nothing says which length and hash ${role} has`);
}

function checkLength(bytes: Uint8Array, maximum: number, role: string): void {
  if (bytes.length > maximum) throw tooLarge(role, maximum);
}

export function tooLarge(role: string, maximum: number): PublicationError {
  return new PublicationError('metadata-too-large', `${role} is longer than ${maximum} bytes`);
}

function rollback(message: string): PublicationError {
  return new PublicationError('metadata-rollback', message);
}

function wrongVersion(role: string, version: number, expected: number): PublicationError {
  return new PublicationError('metadata-mismatch', `${role} has version ${version} where ${expected} has to be`);
}
