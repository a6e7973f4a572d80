/** Makes the signed metadata of publications: docs/spec/publication.md, sections 2 to 4. */
import { ed25519Sign, sha256 } from '#primitives';
import { toBase64url } from '../encoding/base64url.ts';
import { hexDigest } from '../encoding/digest.ts';
import { toHex } from '../encoding/hex.ts';
import { DOCUMENTS_ROLE } from './bins.ts';
import { type TufJson, type TufObject, tufCanonical } from './canonical.ts';
import { encodeEnvelope } from './envelope.ts';
import { encodeTufKey, type RoleSigner, type TufSignature, tufKeyId } from './keys.ts';
import { isoTime, type MetaFile, type RoleMetadata, type SnapshotMetadata, type TopLevelRole } from './metadata.ts';

/** The version of TUF that is followed. */
const SPEC_VERSION = '1.0.31';

/** Seconds for which each role is signed, where nothing else is configured: docs/spec/publication.md, "Roles". */
export const ROLE_VALIDITY = {
  root: 730 * 86_400,
  targets: 400 * 86_400,
  snapshot: 400 * 86_400,
  timestamp: 48 * 3600,
} as const;

/** The public keys of a role, and how many of them have to sign. */
export interface RolePublicKeys {
  readonly publicKeys: readonly Uint8Array[];
  readonly threshold: number;
}

/** Entry for a metadata file in the one above it. */
export interface FileFacts {
  readonly version: number;
  readonly length: number;
  /** SHA-256, hexadecimal. */
  readonly sha256: string;
}

export interface SectionKeys extends RolePublicKeys {
  readonly name: string;
  /** TUF path patterns over target paths. */
  readonly paths: readonly string[];
}

export async function rootMetadata(
  about: RoleMetadata,
  roles: Readonly<Record<TopLevelRole, RolePublicKeys>>,
): Promise<TufObject> {
  const all = (['root', 'snapshot', 'targets', 'timestamp'] as const).map((name) => [name, roles[name]] as const);
  return {
    ...common('root', about),
    consistent_snapshot: true,
    keys: await keysOf(all.map(([, role]) => role)),
    roles: Object.fromEntries(
      await Promise.all(all.map(async ([name, role]) => [name, await roleKeys(role)] as const)),
    ),
  };
}

export function timestampMetadata(about: RoleMetadata, snapshot: FileFacts): TufObject {
  return { ...common('timestamp', about), meta: { 'snapshot.json': metaFile(snapshot) } };
}

/** The version of a timestamp that is signed at `now`, after one with the version `previous`. */
export function timestampVersion(now: number, previous = 0): number {
  return Math.max(now, previous + 1);
}

/**
 * The `signed` part of a snapshot.
 *
 * @param files - by role: `targets`, `documents`, every section and every bin, those of earlier bin counts as well
 */
export function snapshotMetadata(about: RoleMetadata, files: Iterable<readonly [role: string, FileFacts]>): TufObject {
  const meta: TufObject = {};
  for (const [role, facts] of files) meta[`${role}.json`] = metaFile(facts);
  return { ...common('snapshot', about), meta };
}

/**
 * The `signed` part of a closing snapshot.
 *
 * @param roles - those of the snapshot that it withdraws: no file may leave a snapshot (5.5.5)
 */
export function closingSnapshotMetadata(about: RoleMetadata, roles: SnapshotMetadata['roles']): TufObject {
  const files = [...roles].map(([role, file]) => [role, fileFacts(file)] as const);
  return { ...snapshotMetadata(about, files), 'x-wispr-closed': true };
}

/** The `signed` part of `targets`: what is no document, and the delegations to sections and to `documents`. */
export async function targetsMetadata(
  about: RoleMetadata,
  targets: Iterable<readonly [targetPath: string, TufObject]>,
  documents: RolePublicKeys,
  sections: readonly SectionKeys[] = [],
): Promise<TufObject> {
  const delegated = await Promise.all(
    sections.map(async (section) => {
      return { ...(await roleKeys(section)), name: section.name, paths: [...section.paths], terminating: true };
    }),
  );
  const rest = {
    ...(await roleKeys(documents)),
    name: DOCUMENTS_ROLE,
    path_hash_prefixes: Array.from('0123456789abcdef'),
    terminating: true,
  };
  return {
    ...common('targets', about),
    delegations: { keys: await keysOf([...sections, documents]), roles: [...delegated, rest] },
    targets: objectOf(targets),
  };
}

/** The `signed` part of `documents`: nothing but the delegation to 2^`bits` bins. */
export async function documentsMetadata(about: RoleMetadata, bits: number, keys: RolePublicKeys): Promise<TufObject> {
  const succinct = { ...(await roleKeys(keys)), bit_length: bits, name_prefix: DOCUMENTS_ROLE };
  return {
    ...common('targets', about),
    delegations: { keys: await keysOf([keys]), succinct_roles: succinct },
    targets: {},
  };
}

/** The `signed` part of a bin or a section. */
export function binMetadata(
  about: RoleMetadata,
  targets: Iterable<readonly [targetPath: string, TufObject]>,
): TufObject {
  return { ...common('targets', about), targets: objectOf(targets) };
}

/** The entry of a target that is a whole file. */
export async function fileTarget(bytes: Uint8Array): Promise<TufObject> {
  return { hashes: { sha256: await hexDigest(bytes) }, length: bytes.length };
}

export function signMetadata(signed: TufObject, signers: readonly RoleSigner[]): Uint8Array {
  const message = tufCanonical(signed);
  return encodeEnvelope(
    signers.map((signer) => signMessage(message, signer)),
    message,
  );
}

/** Makes a signature over canonical metadata, for signatures that are gathered one by one. */
export function signMessage(message: Uint8Array, { keyid, secretKey }: RoleSigner): TufSignature {
  return { keyid, sig: toHex(ed25519Sign(message, secretKey)) };
}

export async function factsOf(version: number, bytes: Uint8Array): Promise<FileFacts> {
  return { version, length: bytes.length, sha256: await hexDigest(bytes) };
}

/** The root id: who a publisher is to its readers. */
export async function rootIdOf(firstRoot: Uint8Array): Promise<string> {
  return toBase64url(await sha256(firstRoot));
}

function common(type: TopLevelRole, { version, expires }: RoleMetadata): { [member: string]: TufJson } {
  return { _type: type, expires: isoTime(expires), spec_version: SPEC_VERSION, version };
}

/** Length and hash are there wherever metadata were verified strictly (P4). */
function fileFacts({ version, length, sha256: hash }: MetaFile): FileFacts {
  return { version, length: length as number, sha256: hash as string };
}

function metaFile({ version, length, sha256: hash }: FileFacts): TufObject {
  return { hashes: { sha256: hash }, length, version };
}

async function roleKeys({ publicKeys, threshold }: RolePublicKeys): Promise<{ keyids: string[]; threshold: number }> {
  return { keyids: (await Promise.all(publicKeys.map(tufKeyId))).sort(), threshold };
}

async function keysOf(roles: readonly RolePublicKeys[]): Promise<TufObject> {
  const keys = roles.flatMap(({ publicKeys }) => publicKeys);
  return Object.fromEntries(
    await Promise.all(keys.map(async (key) => [await tufKeyId(key), encodeTufKey(key)] as const)),
  );
}

/** Avoids assignment: a target may be called `__proto__`. */
function objectOf(targets: Iterable<readonly [string, TufObject]>): TufObject {
  return Object.fromEntries(targets);
}
