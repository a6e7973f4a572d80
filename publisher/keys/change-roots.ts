/**
 * Changes of roles: a new root, signed by enough keys of the root before and enough of its own (TUF specification 5.3.4), so that every
 * reader of the old one follows. It takes effect with the next publication.
 *
 * Written ahead: a new root key is in `root.keys`, and on the disk, before a root names it; the seed of another role is in `publisher.keys`
 * together with the root that names it. A run that is killed leaves the old chain or the new one, and never loses a key; keys that a root
 * has dropped are removed last.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ed25519KeyPair } from '#primitives';
import { tufCanonical } from '../../core/publication/canonical.ts';
import { tufKeyId } from '../../core/publication/keys.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { verifyNextRoot } from '../../core/publication/verify-roles.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { PublishError } from '../errors.ts';
import { readKeyStore, type Workspace, withLock, workspaceOf } from '../workspace.ts';
import { readIfThere, replaceFile } from './file-update.ts';
import { type KeyStoreContents, ONLINE_ROLES, type OnlineRole, type OpenKeyStore, openKeyStore } from './key-store.ts';
import {
  encodeDraft,
  finishedRoot,
  type Missing,
  makeDraft,
  missingSignatures,
  type RootDraft,
  signDraft,
} from './root-draft.ts';
import { dropRetiredRootKeys } from './root-keys.ts';
import { nextRoot, READER_OPTIONS, type Roles, verifyChain } from './roots.ts';
import { readSigningKeysIfThere } from './signer-file.ts';
import { type OpenSigningKeys, openSigningKeys } from './signing-keys.ts';

export interface KeysOptions {
  /** Path of `wispr.json`. */
  readonly configurationFile: string;
  readonly passphrase: string;
  /** Where the root key is, if not beside the configuration. */
  readonly rootKeys?: string;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

/** An opened workspace. */
export interface ChainContext {
  readonly workspace: Workspace;
  readonly keyStore: OpenKeyStore;
  readonly rootKeysFile: string;
  readonly rootKeys: OpenSigningKeys | undefined;
  /** The last root. */
  readonly root: RootMetadata;
  readonly now: number;
}

/** An opened workspace, with the root key. */
export interface KeysContext extends ChainContext {
  readonly rootKeys: OpenSigningKeys;
}

/** What became of a change. */
export interface RootOutcome {
  /** `draft`: signatures of others are missing. `continued`: an earlier run had done it but for its last step. */
  readonly outcome: 'changed' | 'draft' | 'continued';
  readonly rootId: string;
  /** Of the root. */
  readonly version: number;
  readonly before: RootMetadata;
  readonly after: RootMetadata;
  /** Where the draft lies. */
  readonly file: string | undefined;
  readonly missing: Missing;
}

/** A change: the roles as they are to be, and seeds that were made for it. */
export interface RootChange {
  readonly roles: Roles;
  readonly seeds?: readonly Uint8Array[];
  /** The root keys, where there is one more of them now. */
  readonly rootKeys?: OpenSigningKeys;
}

/**
 * Makes a new root with the roles that `change` answers.
 *
 * @throws PublishError, PublicationError; nothing was changed then
 */
export function changeRoot(
  options: KeysOptions,
  change: (context: KeysContext) => Promise<RootChange>,
): Promise<RootOutcome> {
  return withRootKeys(options, async (context) => {
    await checkNoDraft(context);
    const { roles, seeds = [], rootKeys = context.rootKeys } = await change(context);
    const message = tufCanonical(await nextRoot(context.root, roles, context.now));
    const draft = signDraft(await makeDraft(context.keyStore.roots, message), rootKeys.signers);
    return settle({ ...context, rootKeys }, draft, seeds);
  });
}

/** Opens key store and root keys of a workspace, alone, and tidies up after runs that were killed. */
function withRootKeys<Result>(options: KeysOptions, work: (context: KeysContext) => Promise<Result>): Promise<Result> {
  return withChain(options, async (context) => {
    const { rootKeys, rootKeysFile } = context;
    if (rootKeys !== undefined) return work({ ...context, rootKeys });
    throw new PublishError('root-keys-missing', `there is no ${rootKeysFile}, and only the root key can change roles`, {
      hint: 'bring root.keys back from where you keep it, or say where it is: --root-keys FILE',
    });
  });
}

/** Opens the key store of a workspace, alone, and the root keys where they are. */
export function withChain<Result>(
  options: KeysOptions,
  work: (context: ChainContext) => Promise<Result>,
): Promise<Result> {
  const workspace = workspaceOf(options.configurationFile);
  const rootKeysFile = options.rootKeys ?? workspace.rootKeys;
  return withLock(workspace, async () => {
    const keyStore = await openKeyStore(await readKeyStore(workspace), options.passphrase);
    const bytes = await readSigningKeysIfThere(rootKeysFile);
    const rootKeys = bytes && (await openSigningKeys(bytes, options.passphrase, rootKeysFile));
    const root = verifyChain(keyStore.roots);
    return work({ workspace, keyStore, rootKeysFile, rootKeys, root, now: options.now ?? nowInSeconds() });
  });
}

/** Takes a draft into the chain, or leaves it where others can sign it. */
export async function settle(
  context: ChainContext,
  draft: RootDraft,
  seeds: readonly Uint8Array[] = [],
): Promise<RootOutcome> {
  const missing = missingSignatures(draft);
  const done = missing.before === 0 && missing.after === 0;
  const { after } = draft;
  if (done) await takeIntoChain(context, draft, seeds);
  else await leaveDraft(context, draft, seeds);
  const file = done ? undefined : draftFile(context.workspace, after.version);
  const { before, rootId } = draft;
  return { outcome: done ? 'changed' : 'draft', rootId, version: after.version, before, after, file, missing };
}

/** Where a draft of a root lies. */
export function draftFile({ directory }: Workspace, version: number): string {
  return join(directory, `root.${version}.json`);
}

async function takeIntoChain(context: ChainContext, draft: RootDraft, seeds: readonly Uint8Array[]): Promise<void> {
  const { workspace, keyStore, root } = context;
  const bytes = finishedRoot(draft);
  verifyNextRoot(bytes, root, READER_OPTIONS); // as every reader will
  const roots = [...keyStore.roots, bytes];
  const adopted = await adopt(keyStore.contents, draft.after, seeds);
  const contents: KeyStoreContents = { ...keyStore.contents, pending: [], roots, seeds: adopted };
  await replaceFile(workspace.keyStore, await keyStore.seal(contents));
  await rm(draftFile(workspace, draft.after.version), { force: true });
  if (context.rootKeys) await dropRetiredRootKeys(context.rootKeysFile, context.rootKeys, roots);
}

/** The seeds whose keys the new root names; where it names none of them, the one that is there stays. */
async function adopt(
  { seeds, pending }: KeyStoreContents,
  after: RootMetadata,
  made: readonly Uint8Array[],
): Promise<Record<OnlineRole, Uint8Array>> {
  const adopted = { ...seeds };
  for (const role of ONLINE_ROLES) {
    const candidates = [seeds[role], ...made, ...pending];
    const ids = await Promise.all(candidates.map(idOfSeed));
    const seed = candidates[ids.findIndex((keyid) => after.roles[role].keyids.includes(keyid))];
    if (seed !== undefined) adopted[role] = seed;
  }
  return adopted;
}

/** The key id of a seed's public key. */
function idOfSeed(seed: Uint8Array): Promise<string> {
  return tufKeyId(ed25519KeyPair(seed).publicKey);
}

/** The seeds first: a root that others sign must not name keys that are lost. */
async function leaveDraft(context: ChainContext, draft: RootDraft, seeds: readonly Uint8Array[]): Promise<void> {
  const { workspace, keyStore } = context;
  if (seeds.length > 0) {
    const contents = { ...keyStore.contents, pending: [...keyStore.contents.pending, ...seeds] };
    await replaceFile(workspace.keyStore, await keyStore.seal(contents));
  }
  await replaceFile(draftFile(workspace, draft.after.version), encodeDraft(draft), 0o644);
}

async function checkNoDraft({ workspace, root }: ChainContext): Promise<void> {
  const file = draftFile(workspace, root.version + 1);
  if ((await readIfThere(file)) === undefined) return;
  throw new PublishError('draft-open', `${file} still waits for signatures`, {
    hint: `let its signers run "wispr keys sign", then "wispr keys finish"; to give the change up, remove the file`,
  });
}
