/** The four roles' metadata as they are read (TUF specification section 4). Everything here was signed; its form is checked all the same. */
import { isHexDigest } from '../encoding/digest.ts';
import type { TufJson, TufObject } from './canonical.ts';
import { isTufObject } from './envelope.ts';
import { PublicationError } from './errors.ts';
import type { RoleKeys, TufKey } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';

export interface RoleMetadata {
  readonly version: number;
  /** Seconds since 1970. */
  readonly expires: number;
}

export type TopLevelRole = 'root' | 'timestamp' | 'snapshot' | 'targets';

export interface RootMetadata extends RoleMetadata {
  readonly consistentSnapshot: boolean;
  readonly keys: ReadonlyMap<string, TufKey>;
  readonly roles: Readonly<Record<TopLevelRole, RoleKeys>>;
}

/** Entry of one metadata file for another. */
export interface MetaFile {
  readonly version: number;
  readonly length: number | undefined;
  /** SHA-256, hexadecimal. */
  readonly sha256: string | undefined;
}

export interface TimestampMetadata extends RoleMetadata {
  readonly snapshot: MetaFile;
}

export interface SnapshotMetadata extends RoleMetadata {
  /** Files by role name, which is the file name without `.json`. */
  readonly roles: ReadonlyMap<string, MetaFile>;
  /** A closing publication: no document is shown until a higher snapshot (docs/spec/publication.md, "Withdrawal"). */
  readonly closed: boolean;
}

/** A target: the head of a document, or a whole file. */
export interface TargetInfo {
  readonly length: number;
  /** SHA-256, hexadecimal. */
  readonly sha256: string;
  readonly custom: TufObject | undefined;
  /** True if a bin named it, which the keys of `targets` have signed: they also name the descriptor, and with it the publisher's key. */
  readonly inBin?: boolean;
}

export interface Delegation extends RoleKeys {
  readonly name: string;
  readonly terminating: boolean;
  readonly paths: readonly string[] | undefined;
  readonly pathHashPrefixes: readonly string[] | undefined;
}

/** A delegation to hash bins (TAP 15). */
export interface SuccinctDelegation extends RoleKeys {
  readonly bits: number;
  readonly namePrefix: string;
}

export interface TargetsMetadata extends RoleMetadata {
  readonly keys: ReadonlyMap<string, TufKey>;
  readonly delegations: readonly Delegation[];
  readonly bins: SuccinctDelegation | undefined;
  /** Looked at one by one, and only when asked for: a bin may hold very many. */
  readonly target: (path: string) => TargetInfo | undefined;
  readonly targetPaths: () => string[];
}

const DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

export function parseRoot(signed: TufObject): RootMetadata {
  const common = parseCommon(signed, 'root');
  const keys = parseKeys(signed.keys);
  const roles = object(signed.roles, 'root');
  const role = (name: TopLevelRole) => parseRoleKeys(roles[name], name);
  return {
    ...common,
    consistentSnapshot: signed.consistent_snapshot === true,
    keys,
    roles: { root: role('root'), timestamp: role('timestamp'), snapshot: role('snapshot'), targets: role('targets') },
  };
}

export function parseTimestamp(signed: TufObject): TimestampMetadata {
  const common = parseCommon(signed, 'timestamp');
  const meta = object(signed.meta, 'timestamp');
  return { ...common, snapshot: parseMetaFile(meta['snapshot.json'], 'timestamp') };
}

export function parseSnapshot(signed: TufObject): SnapshotMetadata {
  const common = parseCommon(signed, 'snapshot');
  const roles = new Map<string, MetaFile>();
  for (const [file, value] of Object.entries(object(signed.meta, 'snapshot'))) {
    if (file.endsWith('.json')) roles.set(file.slice(0, -'.json'.length), parseMetaFile(value, 'snapshot'));
  }
  const { 'x-wispr-closed': closed } = signed;
  if (closed !== undefined && closed !== true) throw malformed('snapshot', 'x-wispr-closed');
  return { ...common, roles, closed: closed === true };
}

/** @param role - `targets`, or the name of a delegated role */
export function parseTargets(signed: TufObject, role: string): TargetsMetadata {
  const common = parseCommon(signed, 'targets');
  const targets = object(signed.targets, role);
  const delegations = signed.delegations === undefined ? {} : object(signed.delegations, role);
  const { keys, roles = [], succinct_roles: succinct } = delegations;
  if (!Array.isArray(roles) || (succinct !== undefined && roles.length > 0)) throw malformed(role);
  const delegated = roles.map((value) => parseDelegation(value, role));
  // Delegations of one name would share a file, and the one that is found first would hide the other.
  if (new Set(delegated.map(({ name }) => name)).size < delegated.length) throw malformed(role, 'a delegation twice');
  return {
    ...common,
    keys: keys === undefined ? new Map() : parseKeys(keys),
    delegations: delegated,
    bins: succinct === undefined ? undefined : parseSuccinct(succinct, role),
    target: (path) => (Object.hasOwn(targets, path) ? parseTarget(targets[path], role) : undefined),
    targetPaths: () => Object.keys(targets),
  };
}

/** Tells whether two entries can only be of the same file. */
export function sameFile(a: MetaFile, b: MetaFile): boolean {
  return a.version === b.version && a.sha256 === b.sha256 && a.length === b.length;
}

/** Tells whether `timestamp` or `snapshot` has lost a key by a later root (5.3.11). */
export function hasLostOnlineKeys(before: RootMetadata, after: RootMetadata): boolean {
  const lost = (role: TopLevelRole) =>
    before.roles[role].keyids.some((keyid) => !after.roles[role].keyids.includes(keyid));
  return lost('timestamp') || lost('snapshot');
}

/** A time as people and TUF write it. Times beyond what a date can hold, which may be signed, stand as numbers. */
export function isoTime(seconds: number): string {
  if (seconds > 8.64e12) return String(seconds);
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}

function parseCommon(signed: TufObject, type: TopLevelRole): RoleMetadata {
  const { _type, spec_version: specVersion, version, expires } = signed;
  if (_type !== type) throw malformed(type, `they say that they are ${JSON.stringify(_type)}`);
  if (typeof specVersion !== 'string' || !/^1\.\d+(?:\.\d+)?$/.test(specVersion)) throw malformed(type, 'spec_version');
  if (!isVersion(version)) throw malformed(type, 'version');
  if (typeof expires !== 'string' || !DATE.test(expires)) throw malformed(type, 'expires');
  const time = Date.parse(expires) / 1000;
  if (!Number.isFinite(time)) throw malformed(type, 'expires');
  return { version, expires: Math.floor(time) };
}

function parseKeys(value: TufJson | undefined): Map<string, TufKey> {
  const entries = Object.entries(object(value, 'root'));
  if (entries.length > PUBLICATION_LIMITS.keys) throw malformed('root', 'too many keys');
  return new Map(
    entries.map(([keyid, key]) => {
      const { keytype, scheme, keyval } = object(key, 'root');
      const { public: publicKey } = object(keyval, 'root');
      if (typeof keytype !== 'string' || typeof scheme !== 'string' || typeof publicKey !== 'string')
        throw malformed('root', 'a key');
      return [keyid, { keytype, scheme, public: publicKey }];
    }),
  );
}

function parseRoleKeys(value: TufJson | undefined, role: string): RoleKeys {
  const { keyids, threshold } = object(value, role);
  const good = Array.isArray(keyids) && keyids.every((keyid) => typeof keyid === 'string');
  if (!good || new Set(keyids).size !== keyids.length || !isVersion(threshold))
    throw malformed(role, 'keys or threshold');
  return { keyids: keyids as string[], threshold };
}

function parseMetaFile(value: TufJson | undefined, role: string): MetaFile {
  const { version, length, hashes } = object(value, role);
  const sha256 = hashes === undefined ? undefined : object(hashes, role).sha256;
  if (!isVersion(version) || (length !== undefined && !isLength(length))) throw malformed(role, 'a file');
  if (hashes !== undefined && !isSha256(sha256)) throw malformed(role, 'a hash');
  return { version, length, sha256: sha256 as string | undefined };
}

function parseTarget(value: TufJson | undefined, role: string): TargetInfo {
  const { length, hashes, custom } = object(value, role);
  const { sha256 } = object(hashes, role);
  if (!isLength(length) || !isSha256(sha256)) throw malformed(role, 'a target');
  return { length, sha256, custom: isTufObject(custom) ? custom : undefined };
}

function parseDelegation(value: TufJson, role: string): Delegation {
  const { name, terminating, paths, path_hash_prefixes: prefixes } = object(value, role);
  if (
    typeof name !== 'string' ||
    typeof terminating !== 'boolean' ||
    (paths === undefined) === (prefixes === undefined)
  )
    throw malformed(role, 'a delegation');
  if (isReserved(name)) throw malformed(role, 'the name of a delegation');
  return {
    ...parseRoleKeys(value, role),
    name,
    terminating,
    paths: paths === undefined ? undefined : texts(paths, role),
    pathHashPrefixes: prefixes === undefined ? undefined : texts(prefixes, role),
  };
}

function parseSuccinct(value: TufJson, role: string): SuccinctDelegation {
  const { bit_length: bits, name_prefix: namePrefix } = object(value, role);
  const good = isVersion(bits) && bits <= 32 && typeof namePrefix === 'string';
  if (!good || isReserved(namePrefix)) throw malformed(role, 'its bins');
  return { ...parseRoleKeys(value, role), bits, namePrefix };
}

/** Tells whether no delegated role can have this name: other files are kept under it. */
function isReserved(name: string): boolean {
  return name === '' || ['root', 'timestamp', 'snapshot', 'targets'].includes(name) || name.includes('wispr:');
}

function texts(value: TufJson, role: string): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) throw malformed(role, 'a delegation');
  return value as string[];
}

function object(value: TufJson | undefined, role: string): TufObject {
  if (!isTufObject(value)) throw malformed(role);
  return value;
}

function isSha256(value: TufJson | undefined): value is string {
  return typeof value === 'string' && isHexDigest(value);
}

function isVersion(value: TufJson | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

function isLength(value: TufJson | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function malformed(role: string, what?: string): PublicationError {
  return new PublicationError('metadata-malformed', `the metadata of ${role} are malformed${what ? `: ${what}` : ''}`);
}
