/** Signatures by file, for a root that more than one key has to sign: `wispr keys sign` and `wispr keys finish`. */
import { rm } from 'node:fs/promises';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PublishError } from '../errors.ts';
import { type ChainContext, draftFile, type KeysOptions, type RootOutcome, settle, withChain } from './change-roots.ts';
import { replaceFile } from './file-update.ts';
import { readDraftFile } from './read-draft.ts';
import {
  encodeDraft,
  follows,
  type Missing,
  maySign,
  missingSignatures,
  parseDraft,
  type RootDraft,
  signDraft,
  withSignatures,
} from './root-draft.ts';
import { dropRetiredRootKeys } from './root-keys.ts';
import { readSigningKeys } from './signer-file.ts';
import { afterRoot, checkRoots, readMemory, signedRootOf, withMemory } from './signer-memory.ts';
import { openSigningKeys } from './signing-keys.ts';
import { changedMeanwhile, withDraftFile } from './update-draft.ts';

/**
 * Reads a root that waits for signatures.
 *
 * @throws PublishError `draft-malformed`
 */
export async function readDraft(file: string): Promise<RootDraft> {
  return parseDraft(await readDraftFile(file));
}

/** What signing did. */
export interface Signed {
  /** Key ids that signed now. */
  readonly keyids: readonly string[];
  readonly missing: Missing;
}

/** What a signer's machine has to say of a root. */
export interface ReviewedRoot {
  /** Whether the key signed another root of that number: that may have been given up, or both are to be shown to different readers. */
  readonly signedAnother: boolean;
}

/**
 * Whether a root may be shown to be signed with a key.
 *
 * @throws PublishError `signer-bound`, `draft-rolled-back`, and those of what is remembered
 */
export async function reviewRoot({ rootId, chain, after, message }: RootDraft, keyFile: string): Promise<ReviewedRoot> {
  const memory = await readMemory(keyFile);
  await checkRoots(memory, rootId, chain);
  const [last, { version, digest }] = [memory?.signedRoot, await signedRootOf(after.version, message)];
  return { signedAnother: last?.version === version && last.digest !== digest };
}

/**
 * Adds the signatures of a key file to a draft, in its place, and remembers the roots that it follows.
 *
 * @param draft - what the signer was shown
 * @throws PublishError `signer-unknown`, `draft-stale` if the file is another one by now, and those of key files
 */
export async function signDraftFile(
  file: string,
  draft: RootDraft,
  keyFile: string,
  passphrase: string,
): Promise<Signed> {
  const { signers, rootId } = await openSigningKeys(await readSigningKeys(keyFile), passphrase, keyFile);
  const isTheirs = rootId === undefined || rootId === draft.rootId;
  if (!isTheirs || !signers.some(({ keyid }) => maySign(draft, keyid))) {
    throw new PublishError(
      'signer-unknown',
      `no key in ${keyFile} is a root key of this publisher, before or after the change`,
    );
  }
  return withMemory(keyFile, (memory, remember) =>
    withDraftFile(file, async () => {
      const root = await checkRoots(memory, draft.rootId, draft.chain);
      const signedRoot = await signedRootOf(draft.after.version, draft.message);
      const { message, signatures } = await readDraft(file);
      if (!equalBytes(message, draft.message)) throw changedMeanwhile(file);
      const known = withSignatures(draft, signatures);
      const signed = signDraft(known, signers);
      await remember(afterRoot(memory, draft.rootId, root, signedRoot));
      await replaceFile(file, encodeDraft(signed), 0o644);
      const before = known.signatures.map(({ keyid }) => keyid);
      const keyids = signed.signatures.map(({ keyid }) => keyid).filter((keyid) => !before.includes(keyid));
      return { keyids, missing: missingSignatures(signed) };
    }),
  );
}

/**
 * Takes a root into the chain once enough have signed it. Several copies of it may each have other signatures.
 *
 * @throws PublishError `draft-malformed`, `draft-stale`, `signatures-missing`: what was gathered is kept then
 */
export function finishDraft(options: KeysOptions, files: readonly string[]): Promise<RootOutcome> {
  return withChain(options, async (context) => {
    const drafts = await Promise.all(files.map(readDraft));
    const [first] = drafts;
    if (first === undefined || drafts.some(({ message }) => !equalBytes(message, first.message)))
      throw new PublishError('draft-malformed', 'these files are not copies of one root', { typed: true });
    const done = await alreadyDone(context, first);
    if (done) return done;
    if (!follows(first, context.keyStore.roots)) throw stale(first, context);
    const merged = drafts.reduce((draft, { signatures }) => withSignatures(draft, signatures), first);
    const outcome = await settle(context, merged); // nobody was shown what it says, so nothing is signed here
    if (outcome.outcome === 'draft') throw unfinished(outcome);
    return outcome;
  });
}

/** An earlier run was killed just before it removed the draft, or is repeated. */
async function alreadyDone(context: ChainContext, draft: RootDraft): Promise<RootOutcome | undefined> {
  const { keyStore, root, rootKeys, rootKeysFile, workspace } = context;
  const last = keyStore.roots.at(-1) ?? new Uint8Array(0);
  if (!equalBytes(openEnvelope(last, 'root').message, draft.message)) return undefined;
  await rm(draftFile(workspace, root.version), { force: true });
  if (rootKeys) await dropRetiredRootKeys(rootKeysFile, rootKeys, keyStore.roots);
  const { before, after, rootId } = draft;
  const missing = { before: 0, after: 0 };
  return { outcome: 'continued', rootId, version: root.version, before, after, file: undefined, missing };
}

function stale({ after }: RootDraft, { root }: ChainContext): PublishError {
  return new PublishError(
    'draft-stale',
    `this would be root ${after.version}, made for other roots than those that are here; the last one here is root ${root.version}`,
    { hint: 'make the change again, and let the new file be signed' },
  );
}

function unfinished({ version, missing, file }: RootOutcome): PublishError {
  return new PublishError('signatures-missing', `root ${version} still needs ${describeMissing(missing)}`, {
    hint: `what was gathered is in ${file}: let more of its signers run "wispr keys sign"`,
  });
}

/** `2 signatures of the root keys before, and 1 of the new ones`. */
export function describeMissing({ before, after }: Missing): string {
  const count = (number: number) => `${number} ${number === 1 ? 'signature' : 'signatures'}`;
  const parts = [
    ...(before > 0 ? [`${count(before)} of the root keys before the change`] : []),
    ...(after > 0 ? [`${count(after)} of the root keys after it`] : []),
  ];
  return parts.join(', and ');
}
