/** The chain of roots, and what the last of them says: docs/spec/publication.md, section 2. */
import { fromHex } from '../../core/encoding/hex.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { tufKeyId, verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TopLevelRole } from '../../core/publication/metadata.ts';
import { type VerifyOptions, verifyFirstRoot, verifyNextRoot } from '../../core/publication/verify-roles.ts';
import { ROLE_VALIDITY, type RolePublicKeys, rootMetadata } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { count } from '../text.ts';

/** As readers of bound sites verify. */
export const READER_OPTIONS: VerifyOptions = { verify: verifyEd25519, strict: true };

/** All roles of a root, in the order in which people are shown them. */
export const TOP_LEVEL_ROLES = ['root', 'targets', 'snapshot', 'timestamp'] as const;

/** Public keys and threshold of each role. */
export type Roles = Readonly<Record<TopLevelRole, RolePublicKeys>>;

/**
 * What the last root of a chain says, if every root is one that a reader of the one before accepts.
 *
 * @throws PublicationError
 */
export function verifyChain(chain: readonly Uint8Array[]): RootMetadata {
  return verifiedRoots(chain)[0];
}

/**
 * Every root of such a chain, the newest first.
 *
 * @throws PublicationError
 */
export function verifiedRoots([first, ...rest]: readonly Uint8Array[]): [RootMetadata, ...RootMetadata[]] {
  const roots: [RootMetadata, ...RootMetadata[]] = [verifyFirstRoot(first ?? new Uint8Array(0), READER_OPTIONS)];
  for (const bytes of rest) roots.unshift(verifyNextRoot(bytes, roots[0], READER_OPTIONS));
  return roots;
}

/** Keys and thresholds of a root. */
export function rolesOf(root: RootMetadata): Roles {
  const role = (name: TopLevelRole): RolePublicKeys => {
    const { keyids, threshold } = root.roles[name];
    const publicKeys = keyids.flatMap((keyid) => fromHex(root.keys.get(keyid)?.public, 32) ?? []);
    return { publicKeys, threshold };
  };
  return { root: role('root'), targets: role('targets'), snapshot: role('snapshot'), timestamp: role('timestamp') };
}

/**
 * The `signed` part of the root that follows `before`.
 *
 * @param now - seconds since 1970
 * @throws PublishError `signers-refused`
 */
export async function nextRoot(before: RootMetadata, roles: Roles, now: number): Promise<TufObject> {
  for (const name of TOP_LEVEL_ROLES) checkRole(name, roles[name]);
  if (before.version >= PUBLICATION_LIMITS.rootRotations) throw refused('there are as many roots as readers follow');
  return rootMetadata({ version: before.version + 1, expires: now + ROLE_VALIDITY.root }, roles);
}

/** `roles` with `added` among the keys of a role. */
export async function withKey(roles: Roles, name: TopLevelRole, added: Uint8Array): Promise<Roles> {
  const keyid = await tufKeyId(added);
  for (const key of roles[name].publicKeys)
    if ((await tufKeyId(key)) === keyid) throw refused(`${name} has the key ${shortId(keyid)} already`);
  return { ...roles, [name]: { ...roles[name], publicKeys: [...roles[name].publicKeys, added] } };
}

/** `roles` without some keys of a role. */
export async function withoutKeys(roles: Roles, name: TopLevelRole, keyids: readonly string[]): Promise<Roles> {
  const { publicKeys, threshold } = roles[name];
  const named = await Promise.all(publicKeys.map(async (key) => ({ key, keyid: await tufKeyId(key) })));
  const kept = named.filter(({ keyid }) => !keyids.includes(keyid)).map(({ key }) => key);
  return { ...roles, [name]: { publicKeys: kept, threshold } };
}

/** `roles` with another threshold. */
export function withThreshold(roles: Roles, name: TopLevelRole, threshold: number | undefined): Roles {
  return threshold === undefined ? roles : { ...roles, [name]: { ...roles[name], threshold } };
}

/** The first characters of a key id: enough to tell a publisher's keys apart. */
export function shortId(keyid: string): string {
  return keyid.slice(0, 12);
}

/** As much of a key id as nobody finds another key for: where somebody is to sign on seeing it. */
export function signingId(keyid: string): string {
  return keyid.slice(0, 32);
}

/** Snapshot and timestamp are signed by programs alone, so one signature has to be enough. */
function checkRole(name: TopLevelRole, { publicKeys, threshold }: RolePublicKeys): void {
  const keys = publicKeys.length;
  if (!Number.isSafeInteger(threshold) || threshold < 1) throw refused('a threshold is a number from 1 up');
  if (keys < threshold)
    throw refused(`${name} would have ${count(keys, 'key')} and need ${threshold} to sign`, whenTooFew(keys));
  if (name !== 'root' && name !== 'targets' && threshold > 1)
    throw refused(`${name} is signed by one key: only root, targets and sections can have a threshold above one`);
  const most = PUBLICATION_LIMITS.keys / TOP_LEVEL_ROLES.length;
  if (keys > most) throw refused(`a role has at most ${most} keys`);
}

/** What to do about a threshold that too few keys can reach. There is none that no key at all reaches. */
export function whenTooFew(keys: number): string {
  return keys === 0
    ? 'the last key cannot be taken away: add the one that is to sign instead first, then remove this one'
    : 'add more keys first, or name a lower --threshold';
}

export function refused(message: string, hint?: string): PublishError {
  return new PublishError('signers-refused', message, { typed: true, ...(hint !== undefined && { hint }) });
}
