/** `wispr keys`: what can be changed about the roles of a publisher. */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { KEY_LENGTH, type KeyId } from '../../core/keys/key-id.ts';
import { publisherIdentity } from '../../core/object/writer.ts';
import type { TopLevelRole } from '../../core/publication/metadata.ts';
import {
  changeRoot,
  type KeysContext,
  type KeysOptions,
  type RootChange,
  type RootOutcome,
  withChain,
} from './change-roots.ts';
import { replaceFile } from './file-update.ts';
import type { OnlineRole } from './key-store.ts';
import { dropRetiredRootKeys, freshRootSeed } from './root-keys.ts';
import { refused, rolesOf, shortId, withKey, withoutKeys, withThreshold } from './roots.ts';

/** Signs the same root anew, before it expires. */
export function renewRoot(options: KeysOptions): Promise<RootOutcome> {
  return changeRoot(options, async ({ root }) => ({ roles: rolesOf(root) }));
}

/** Gives a role a new key in place of the one that is here. Keys of other signers stay. */
export function rotateRole(options: KeysOptions, role: TopLevelRole): Promise<RootOutcome> {
  return role === 'root' ? rotateRoot(options) : changeRoot(options, (context) => rotateOnlineRole(context, role));
}

async function rotateOnlineRole({ keyStore, root }: KeysContext, role: OnlineRole): Promise<RootChange> {
  const seed = randomBytes(KEY_LENGTH);
  const without = await withoutKeys(rolesOf(root), role, [keyStore.signers[role].keyid]);
  return { roles: await withKey(without, role, ed25519KeyPair(seed).publicKey), seeds: [seed] };
}

/** A run that was killed after its root was in the chain is only finished: whoever repeats it wants one rotation. */
async function rotateRoot(options: KeysOptions): Promise<RootOutcome> {
  const finished = await withChain(options, async ({ keyStore, root, rootKeys, rootKeysFile }) => {
    if (!rootKeys || !(await dropRetiredRootKeys(rootKeysFile, rootKeys, keyStore.roots))) return undefined;
    const { version } = root;
    const missing = { before: 0, after: 0 };
    const { rootId } = keyStore;
    return { outcome: 'continued', rootId, version, before: root, after: root, file: undefined, missing } as const;
  });
  return finished ?? changeRoot(options, rotateRootKey);
}

async function rotateRootKey({ keyStore, root, rootKeys: before, rootKeysFile }: KeysContext): Promise<RootChange> {
  const ours = before.signers.map(({ keyid }) => keyid).filter((keyid) => root.roles.root.keyids.includes(keyid));
  if (ours.length === 0) throw refused('none of the keys in the root key file is one of the root');
  const { seed, rootKeys } = await freshRootSeed(rootKeysFile, before, keyStore.roots);
  const without = await withoutKeys(rolesOf(root), 'root', ours);
  return { roles: await withKey(without, 'root', ed25519KeyPair(seed).publicKey), rootKeys };
}

/** Lets somebody else's key sign for a role too. */
export function addSigner(
  options: KeysOptions,
  role: TopLevelRole,
  publicKey: Uint8Array,
  threshold?: number,
): Promise<RootOutcome> {
  return changeRoot(options, async ({ root }) => {
    return { roles: withThreshold(await withKey(rolesOf(root), role, publicKey), role, threshold) };
  });
}

/**
 * Takes a key from a role.
 *
 * @param keyid - its key id, or the beginning of it
 */
export function removeSigner(
  options: KeysOptions,
  role: TopLevelRole,
  keyid: string,
  threshold?: number,
): Promise<RootOutcome> {
  return changeRoot(options, async ({ keyStore, root }) => {
    const found = findKey(root.roles[role].keyids, role, keyid);
    const isOwn = role !== 'root' && keyStore.signers[role].keyid === found;
    if (isOwn)
      throw refused(`this workspace signs with the key ${shortId(found)}`, `"wispr keys rotate ${role}" replaces it`);
    return { roles: withThreshold(await withoutKeys(rolesOf(root), role, [found]), role, threshold) };
  });
}

/**
 * Gives the publisher a new key for objects and descriptor.
 *
 * @returns its key id
 */
export function rotatePublisherKey(options: KeysOptions): Promise<{ before: KeyId; after: KeyId }> {
  return withChain(options, async ({ keyStore, workspace }) => {
    const publisherSeed = randomBytes(KEY_LENGTH);
    const { id } = await publisherIdentity(ed25519KeyPair(publisherSeed));
    await replaceFile(workspace.keyStore, await keyStore.seal({ ...keyStore.contents, publisherSeed }));
    return { before: keyStore.publisher.id, after: id };
  });
}

function findKey(keyids: readonly string[], role: TopLevelRole, text: string): string {
  const found = keyids.filter((keyid) => text.length >= 8 && keyid.startsWith(text.toLowerCase()));
  const [keyid] = found;
  if (keyid !== undefined && found.length === 1) return keyid;
  throw refused(
    `${role} has no key whose id begins with ${JSON.stringify(text)}`,
    '"wispr keys list" shows them; 8 characters are enough',
  );
}
