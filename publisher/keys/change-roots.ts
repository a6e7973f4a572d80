/**
 * Changes of roles: a new root, signed by enough keys of the root before and enough of its own (TUF specification 5.3.4), so that every
 * reader of the old one follows. It takes effect with the next publication.
 *
 * Written ahead: a new root key is in `root.keys`, and on the disk, before a root names it; the seed of another role is in `publisher.keys`
 * together with the root that names it. A run that is killed leaves the old chain or the new one, and never loses a key; keys that a root
 * has dropped are removed last.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { KEY_LENGTH, type KeyId } from '../../core/crypto/key-id.ts';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { publisherIdentity } from '../../core/object/writer.ts';
import { tufCanonical } from '../../core/publication/canonical.ts';
import { tufKeyId } from '../../core/publication/keys.ts';
import type { RootMetadata, TopLevelRole } from '../../core/publication/metadata.ts';
import { verifyNextRoot } from '../../core/publication/verify-roles.ts';
import type { RolePublicKeys } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { PublishError } from '../errors.ts';
import { readKeyStore, type Workspace, withLock, workspaceOf } from '../workspace/workspace.ts';
import { replaceFile } from './file-update.ts';
import { type KeyStoreContents, ONLINE_ROLES, type OnlineRole, type OpenKeyStore, openKeyStore } from './key-store.ts';
import {
  describeMissing,
  encodeDraft,
  finishedRoot,
  follows,
  type Missing,
  makeDraft,
  missingSignatures,
  type RootDraft,
  readDraft,
  signDraft,
  withSignatures,
} from './root-draft.ts';
import {
  dropRetiredRootKeys,
  findKeyId,
  freshRootSeed,
  nextRoot,
  READER_OPTIONS,
  type Roles,
  refused,
  rolesOf,
  shortId,
  verifyChain,
  withKey,
  withoutKeys,
  withThreshold,
} from './roots.ts';
import { type OpenSigningKeys, openSigningKeys, readSigningKeys } from './signing-keys.ts';

export interface KeysOptions {
  readonly configurationFile: string;
  readonly passphrase: string;
  /** File of the root key, if not beside the configuration. */
  readonly rootKeys?: string;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

interface ChainContext {
  readonly workspace: Workspace;
  readonly keyStore: OpenKeyStore;
  readonly rootKeysFile: string;
  readonly rootKeys: OpenSigningKeys | undefined;
  readonly root: RootMetadata;
  readonly now: number;
}

interface KeysContext extends ChainContext {
  readonly rootKeys: OpenSigningKeys;
}

export interface RootOutcome {
  /** `draft`: signatures of others are missing. */
  readonly outcome: 'changed' | 'draft';
  readonly rootId: string;
  readonly version: number;
  readonly before: RootMetadata;
  readonly after: RootMetadata;
  readonly file: string | undefined;
  readonly missing: Missing;
}

/** A change: the roles as they are to be, and seeds that were made for it. */
interface RootChange {
  readonly roles: Roles;
  readonly seeds?: readonly Uint8Array[];
  readonly rootKeys?: OpenSigningKeys;
}

/**
 * Makes a new root with the roles that `change` answers.
 *
 * @throws PublishError, PublicationError; nothing was changed then
 */
function changeRoot(options: KeysOptions, change: (context: KeysContext) => Promise<RootChange>): Promise<RootOutcome> {
  return withChain(options, async (context) => {
    const { rootKeys: own, rootKeysFile, workspace, root } = context;
    if (own === undefined)
      throw new PublishError('key-file-refused', `there is no ${rootKeysFile}, and only the root key can change roles`);
    const waiting = draftFile(workspace, root.version + 1);
    if (existsSync(waiting)) throw new PublishError('draft-refused', `${waiting} still waits for signatures`);
    const { roles, seeds = [], rootKeys = own } = await change({ ...context, rootKeys: own });
    const message = tufCanonical(await nextRoot(context.root, roles, context.now));
    const draft = await signDraft(await makeDraft(context.keyStore.roots, message), rootKeys.signers);
    return settle({ ...context, rootKeys }, draft, seeds);
  });
}

/** Opens the key store of a workspace, alone, and the root keys where they are. */
function withChain<Result>(options: KeysOptions, work: (context: ChainContext) => Promise<Result>): Promise<Result> {
  const workspace = workspaceOf(options.configurationFile);
  const rootKeysFile = options.rootKeys ?? workspace.rootKeys;
  return withLock(workspace, async () => {
    const keyStore = await openKeyStore(await readKeyStore(workspace), options.passphrase);
    const found = existsSync(rootKeysFile)
      ? await openSigningKeys(await readSigningKeys(rootKeysFile), options.passphrase, rootKeysFile)
      : undefined;
    const root = await verifyChain(keyStore.roots);
    const rootKeys = found && (await dropRetiredRootKeys(rootKeysFile, found, keyStore.roots)); // a run may have been killed before that
    return work({ workspace, keyStore, rootKeysFile, rootKeys, root, now: options.now ?? nowInSeconds() });
  });
}

/** Takes a draft into the chain, or leaves it where others can sign it. */
async function settle(
  context: ChainContext,
  draft: RootDraft,
  seeds: readonly Uint8Array[] = [],
): Promise<RootOutcome> {
  const missing = await missingSignatures(draft);
  const done = missing.before === 0 && missing.after === 0;
  if (done) await appendToChain(context, draft, seeds);
  else await leaveDraft(context, draft, seeds);
  const { rootId, before, after } = draft;
  const file = done ? undefined : draftFile(context.workspace, after.version);
  return { outcome: done ? 'changed' : 'draft', rootId, version: after.version, before, after, file, missing };
}

function draftFile({ directory }: Workspace, version: number): string {
  return join(directory, `root.${version}.json`);
}

async function appendToChain(context: ChainContext, draft: RootDraft, seeds: readonly Uint8Array[]): Promise<void> {
  const { workspace, keyStore, root } = context;
  const bytes = finishedRoot(draft);
  await verifyNextRoot(bytes, root, READER_OPTIONS); // readers do the same
  const roots = [...keyStore.roots, bytes];
  const adopted = await adopt(keyStore.contents, draft.after, seeds);
  const contents: KeyStoreContents = { ...keyStore.contents, pending: [], roots, seeds: adopted };
  await replaceFile(workspace.keyStore, await keyStore.seal(contents));
  await rm(draftFile(workspace, draft.after.version), { force: true });
  if (context.rootKeys) await dropRetiredRootKeys(context.rootKeysFile, context.rootKeys, roots);
}

/** Returns the seeds whose keys the new root names; where it names none of them, the one that is there stays. */
async function adopt(
  { seeds, pending }: KeyStoreContents,
  after: RootMetadata,
  made: readonly Uint8Array[],
): Promise<Record<OnlineRole, Uint8Array>> {
  const adopted = { ...seeds };
  for (const role of ONLINE_ROLES) {
    const candidates = [seeds[role], ...made, ...pending];
    const ids = await Promise.all(candidates.map((seed) => tufKeyId(ed25519KeyPair(seed).publicKey)));
    const seed = candidates[ids.findIndex((keyid) => after.roles[role].keyids.includes(keyid))];
    if (seed !== undefined) adopted[role] = seed;
  }
  return adopted;
}

/** Writes the seeds first: a root that others sign must not name keys that are lost. */
async function leaveDraft(context: ChainContext, draft: RootDraft, seeds: readonly Uint8Array[]): Promise<void> {
  const { workspace, keyStore } = context;
  if (seeds.length > 0) {
    const contents = { ...keyStore.contents, pending: [...keyStore.contents.pending, ...seeds] };
    await replaceFile(workspace.keyStore, await keyStore.seal(contents));
  }
  await replaceFile(draftFile(workspace, draft.after.version), encodeDraft(draft), 0o644);
}

export function renewRoot(options: KeysOptions): Promise<RootOutcome> {
  return changeRoot(options, async ({ root }) => ({ roles: rolesOf(root) }));
}

/** Gives a role a new key in place of the one that is here. Keys of other signers stay. */
export function rotateRole(options: KeysOptions, role: TopLevelRole): Promise<RootOutcome> {
  return changeRoot(options, (context) => (role === 'root' ? rotateRootKey(context) : rotateOnlineRole(context, role)));
}

async function rotateOnlineRole({ keyStore, root }: KeysContext, role: OnlineRole): Promise<RootChange> {
  const seed = randomBytes(KEY_LENGTH);
  const without = await withoutKeys(rolesOf(root)[role], [keyStore.signers[role].keyid]);
  return { roles: withRole(root, role, await withKey(without, role, ed25519KeyPair(seed).publicKey)), seeds: [seed] };
}

function withRole(root: RootMetadata, role: TopLevelRole, keys: RolePublicKeys): Roles {
  return { ...rolesOf(root), [role]: keys };
}

async function rotateRootKey({ keyStore, root, rootKeys: before, rootKeysFile }: KeysContext): Promise<RootChange> {
  const ours = before.signers.map(({ keyid }) => keyid).filter((keyid) => root.roles.root.keyids.includes(keyid));
  if (ours.length === 0) throw refused('none of the keys in the root key file is one of the root');
  const { seed, rootKeys } = await freshRootSeed(rootKeysFile, before, keyStore.roots);
  const without = await withoutKeys(rolesOf(root).root, ours);
  return { roles: withRole(root, 'root', await withKey(without, 'root', ed25519KeyPair(seed).publicKey)), rootKeys };
}

export function addSigner(
  options: KeysOptions,
  role: TopLevelRole,
  publicKey: Uint8Array,
  threshold?: number,
): Promise<RootOutcome> {
  return changeRoot(options, async ({ root }) => {
    const keys = withThreshold(await withKey(rolesOf(root)[role], role, publicKey), threshold);
    return { roles: withRole(root, role, keys) };
  });
}

/** @param keyid - its key id, or the beginning of it */
export function removeSigner(
  options: KeysOptions,
  role: TopLevelRole,
  keyid: string,
  threshold?: number,
): Promise<RootOutcome> {
  return changeRoot(options, async ({ keyStore, root }) => {
    const found = findKeyId(root.roles[role].keyids, role, keyid);
    const isOwn = role !== 'root' && keyStore.signers[role].keyid === found;
    if (isOwn)
      throw refused(`this workspace signs with the key ${shortId(found)}: "wispr keys rotate ${role}" replaces it`);
    return { roles: withRole(root, role, withThreshold(await withoutKeys(rolesOf(root)[role], [found]), threshold)) };
  });
}

/** Gives the publisher a new key for objects and descriptor. @returns its key id */
export function rotatePublisherKey(options: KeysOptions): Promise<{ before: KeyId; after: KeyId }> {
  return withChain(options, async ({ keyStore, workspace }) => {
    const publisherSeed = randomBytes(KEY_LENGTH);
    const { id } = await publisherIdentity(ed25519KeyPair(publisherSeed));
    await replaceFile(workspace.keyStore, await keyStore.seal({ ...keyStore.contents, publisherSeed }));
    return { before: keyStore.publisher.id, after: id };
  });
}

/**
 * Takes a root into the chain once enough have signed it. Several copies of it may each have other signatures.
 *
 * @throws PublishError `draft-refused`, `signatures-missing`: what was gathered is kept then
 */
export function finishDraft(options: KeysOptions, files: readonly string[]): Promise<RootOutcome> {
  return withChain(options, async (context) => {
    const drafts = await Promise.all(files.map(readDraft));
    const [first] = drafts;
    if (first === undefined || drafts.some(({ message }) => !equalBytes(message, first.message)))
      throw new PublishError('draft-refused', 'these files are not copies of one root', { typed: true });
    if (!follows(first, context.keyStore.roots)) {
      const message = `this would be root ${first.after.version}, made for other roots than those that are here; the last one here is root ${context.root.version}`;
      throw new PublishError('draft-refused', message);
    }
    const merged = await withSignatures(
      first,
      drafts.flatMap(({ signatures }) => signatures),
    );
    const outcome = await settle(context, merged); // the root was not shown here, so nothing is signed
    if (outcome.outcome === 'changed') return outcome;
    const { version, missing } = outcome;
    throw new PublishError('signatures-missing', `root ${version} still needs ${describeMissing(missing)}`);
  });
}
