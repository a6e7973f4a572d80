/** The chain of roots, and what the last of them says: docs/spec/publication.md, section 2. */
import { randomBytes } from '#primitives';
import { KEY_LENGTH } from '../../core/crypto/key-id.ts';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { fromHex } from '../../core/encoding/hex.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { tufKeyId, verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime, parseRoot, type RootMetadata, type TopLevelRole } from '../../core/publication/metadata.ts';
import { type RoleChecks, verifyFirstRoot, verifyNextRoot } from '../../core/publication/verify-roles.ts';
import { ROLE_VALIDITY, type RolePublicKeys, rootMetadata } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { count } from '../text.ts';
import { replaceFile } from './file-update.ts';
import type { OpenSigningKeys } from './signing-keys.ts';

/** Checks that readers of bound sites make. */
export const READER_OPTIONS: RoleChecks = { verify: verifyEd25519, strict: true };

/** Roles of a root, in the order in which people are shown them. */
export const TOP_LEVEL_ROLES = ['root', 'targets', 'snapshot', 'timestamp'] as const;

export type Roles = Readonly<Record<TopLevelRole, RolePublicKeys>>;

/**
 * Returns the last root of a chain, if each root is one that a reader of the root before accepts.
 *
 * @throws PublicationError
 */
export async function verifyChain(chain: readonly Uint8Array[]): Promise<RootMetadata> {
  const [root] = await verifiedRoots(chain);
  return root;
}

/** Returns the roots of such a chain, the newest first. @throws PublicationError */
export async function verifiedRoots([first, ...rest]: readonly Uint8Array[]): Promise<
  [RootMetadata, ...RootMetadata[]]
> {
  const roots: [RootMetadata, ...RootMetadata[]] = [await verifyFirstRoot(first ?? new Uint8Array(0), READER_OPTIONS)];
  for (const bytes of rest) roots.unshift(await verifyNextRoot(bytes, roots[0], READER_OPTIONS));
  return roots;
}

export function rolesOf(root: RootMetadata): Roles {
  const role = (name: TopLevelRole): RolePublicKeys => {
    const { keyids, threshold } = root.roles[name];
    const publicKeys = keyids.flatMap((keyid) => fromHex(root.keys.get(keyid)?.public, 32) ?? []);
    return { publicKeys, threshold };
  };
  return { root: role('root'), targets: role('targets'), snapshot: role('snapshot'), timestamp: role('timestamp') };
}

/**
 * Makes the `signed` part of the root that follows `before`.
 *
 * @param now - seconds since 1970
 * @throws PublishError `argument-invalid`
 */
export async function nextRoot(before: RootMetadata, roles: Roles, now: number): Promise<TufObject> {
  for (const name of TOP_LEVEL_ROLES) checkRole(name, roles[name]);
  if (before.version >= PUBLICATION_LIMITS.rootRotations) throw refused('there are as many roots as readers follow');
  return rootMetadata({ version: before.version + 1, expires: now + ROLE_VALIDITY.root }, roles);
}

/** Adds a key to those of a role or a section. @param name - in messages @throws PublishError `argument-invalid` */
export async function withKey<Role extends RolePublicKeys>(role: Role, name: string, added: Uint8Array): Promise<Role> {
  if (role.publicKeys.some((key) => equalBytes(key, added)))
    throw refused(`${name} has the key ${shortId(await tufKeyId(added))} already`);
  return { ...role, publicKeys: [...role.publicKeys, added] };
}

export async function withoutKeys<Role extends RolePublicKeys>(role: Role, keyids: readonly string[]): Promise<Role> {
  const own = await Promise.all(role.publicKeys.map(tufKeyId));
  return { ...role, publicKeys: role.publicKeys.filter((_, index) => !keyids.includes(own[index] ?? '')) };
}

export function withThreshold<Role extends RolePublicKeys>(role: Role, threshold = role.threshold): Role {
  return { ...role, threshold };
}

/** Returns the first characters of a key id: enough to tell a publisher's keys apart. */
export function shortId(keyid: string): string {
  return keyid.slice(0, 12);
}

/** Finds the key id that begins with a text. @throws PublishError `argument-invalid` */
export function findKeyId(keyids: readonly string[], role: string, text: string): string {
  const [keyid, ...others] = keyids.filter((each) => text.length >= 8 && each.startsWith(text.toLowerCase()));
  if (keyid !== undefined && others.length === 0) return keyid;
  throw refused(`${role} has no key whose id begins with ${JSON.stringify(text)} (at least 8 characters)`);
}

/** @throws PublishError `argument-invalid` for fewer keys than have to sign */
export function checkEnough(role: string, { publicKeys, threshold }: RolePublicKeys): void {
  if (publicKeys.length >= threshold) return;
  const keys = count(publicKeys.length, 'key');
  throw refused(`${role} would have ${keys} and need ${threshold} to sign: add keys first`);
}

/** Shortens a key id so little that no other key can be found for it: for people who sign on seeing it. */
export function signingId(keyid: string): string {
  return keyid.slice(0, 32);
}

/** Checks a role. Snapshot and timestamp are signed by programs alone, so one signature has to be enough. */
function checkRole(name: TopLevelRole, role: RolePublicKeys): void {
  const { threshold } = role;
  if (!Number.isSafeInteger(threshold) || threshold < 1) throw refused('a threshold is a number from 1 up');
  checkEnough(name, role);
  if (name !== 'root' && name !== 'targets' && threshold > 1)
    throw refused(`${name} is signed by one key: only root, targets and sections can have a threshold above one`);
  const most = PUBLICATION_LIMITS.keys / TOP_LEVEL_ROLES.length;
  if (role.publicKeys.length > most) throw refused(`a role has at most ${most} keys`);
}

export function refused(message: string): PublishError {
  return new PublishError('argument-invalid', message, { typed: true });
}

/** Returns one line for each change, and one for the expiry. */
export function describeChanges(before: RootMetadata, after: RootMetadata): string[] {
  const [old, now] = [dayOf(before), dayOf(after)];
  return [
    ...TOP_LEVEL_ROLES.flatMap((role) => changesOf(role, before, after)),
    `good until ${now}${old === now ? '' : ` (before: ${old})`}`,
  ];
}

function dayOf({ expires }: RootMetadata): string {
  return isoTime(expires).slice(0, 10);
}

function changesOf(role: TopLevelRole, before: RootMetadata, after: RootMetadata): string[] {
  const [old, now] = [before.roles[role], after.roles[role]];
  const added = now.keyids.filter((keyid) => !old.keyids.includes(keyid));
  const removed = old.keyids.filter((keyid) => !now.keyids.includes(keyid));
  return [
    ...added.map((keyid) => `${role}: the key ${signingId(keyid)} may sign from now on`),
    ...removed.map((keyid) => `${role}: the key ${signingId(keyid)} may not sign any more`),
    ...(old.threshold === now.threshold
      ? []
      : [`${role}: ${now.threshold} of ${now.keyids.length} keys have to sign (before: ${old.threshold})`]),
  ];
}

/** Makes a fresh key, on the disk, or takes the one that an interrupted run made and no root names yet. */
export async function freshRootSeed(
  file: string,
  rootKeys: OpenSigningKeys,
  roots: readonly Uint8Array[],
): Promise<{ seed: Uint8Array; rootKeys: OpenSigningKeys }> {
  const ever = new Set(roots.flatMap(rootKeyIds));
  const unused = rootKeys.seeds.find((_, index) => !ever.has(idAt(rootKeys, index)));
  if (unused !== undefined) return { seed: unused, rootKeys };
  const seed = randomBytes(KEY_LENGTH);
  const { bytes, keys } = await rootKeys.withSeeds([...rootKeys.seeds, seed]);
  await replaceFile(file, bytes);
  return { seed, rootKeys: keys };
}

/** Removes root keys that an earlier root named, and the last one does not. @returns those that are left */
export async function dropRetiredRootKeys(
  file: string,
  rootKeys: OpenSigningKeys,
  roots: readonly Uint8Array[],
): Promise<OpenSigningKeys> {
  const ever = new Set(roots.flatMap(rootKeyIds));
  const current = roots.slice(-1).flatMap(rootKeyIds);
  const isRetired = (keyid: string) => ever.has(keyid) && !current.includes(keyid);
  const kept = rootKeys.seeds.filter((_, index) => !isRetired(idAt(rootKeys, index)));
  if (kept.length === rootKeys.seeds.length) return rootKeys;
  const { bytes, keys } = await rootKeys.withSeeds(kept);
  await replaceFile(file, bytes);
  return keys;
}

function idAt({ signers }: OpenSigningKeys, index: number): string {
  return signers[index]?.keyid ?? '';
}

function rootKeyIds(root: Uint8Array): readonly string[] {
  return parseRoot(openEnvelope(root, 'root').signed()).roles.root.keyids;
}
