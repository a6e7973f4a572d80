/** Signatures by file for a root that more than one key has to sign: `wispr keys sign` and `wispr keys finish`. */
import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { type ChainContext, draftFile, type KeysOptions, type RootOutcome, settle, withChain } from './change-roots.ts';
import { replaceFile } from './file-update.ts';
import {
  encodeDraft,
  follows,
  MAXIMUM_DRAFT_LENGTH,
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
import { openSigningKeys } from './signing-keys.ts';

/**
 * Reads a root that needs signatures.
 *
 * @throws PublishError `draft-malformed`
 */
export async function readDraft(file: string): Promise<RootDraft> {
  return parseDraft(await readBounded(file));
}

async function readBounded(file: string): Promise<Uint8Array> {
  try {
    // O_NONBLOCK: opening a named pipe must not wait for its writer.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = await handle.stat();
    if (size <= MAXIMUM_DRAFT_LENGTH) return await handle.readFile();
  } catch (error) {
    throw new PublishError('draft-malformed', describeUnreadable(file, error), { cause: error, typed: true });
  }
  throw new PublishError('draft-malformed', `${file} is longer than ${MAXIMUM_DRAFT_LENGTH} bytes`, { typed: true });
}

/** What signing did. */
export interface Signed {
  /** Key ids that signed now. */
  readonly keyids: readonly string[];
  readonly missing: Missing;
}

/**
 * Adds the signatures of a key file to a draft, in its place.
 *
 * @param draft - what the signer was shown
 * @throws PublishError `signer-unknown`, `draft-stale` if the file changed since it was shown, and those of key files
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
  const { message, signatures } = await readDraft(file);
  if (!equalBytes(message, draft.message))
    throw new PublishError('draft-stale', `${file} changed since it was shown; nothing was signed`, {
      hint: 'run the command again, and look at what it shows',
    });
  const known = withSignatures(draft, signatures);
  const signed = signDraft(known, signers);
  await replaceFile(file, encodeDraft(signed), 0o644);
  const before = known.signatures.map(({ keyid }) => keyid);
  const keyids = signed.signatures.map(({ keyid }) => keyid).filter((keyid) => !before.includes(keyid));
  return { keyids, missing: missingSignatures(signed) };
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
