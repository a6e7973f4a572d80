/** Signatures by file, for a publication that keys of `targets` on several machines have to sign: `wispr keys sign` and `wispr keys finish`. */
import { open } from 'node:fs/promises';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { publicationDraftFile, withLock, workspaceOf } from '../workspace.ts';
import { readIfThere, replaceFile } from './file-update.ts';
import {
  encodePublicationDraft,
  isPublicationDraft,
  MAXIMUM_PUBLICATION_DRAFT,
  maySignPublication,
  mergeDrafts,
  missingOfPublication,
  type PublicationDraft,
  parsePublicationDraft,
  samePublication,
  signersOfDraft,
  signPublicationDraft,
} from './publication-draft.ts';
import { parseDraft, type RootDraft } from './root-draft.ts';
import { readSigningKeys } from './signer-file.ts';
import { openSigningKeys } from './signing-keys.ts';

/** What waits for signatures in a file. */
export type WaitingFile =
  | { readonly kind: 'root'; readonly draft: RootDraft }
  | { readonly kind: 'publication'; readonly draft: PublicationDraft };

/**
 * Reads a file that waits for signatures, and checks all of it.
 *
 * @throws PublishError `draft-malformed`
 */
export async function readWaitingFile(file: string): Promise<WaitingFile> {
  const bytes = await readBounded(file).catch((error: unknown) => {
    throw new PublishError('draft-malformed', describeUnreadable(file, error), { cause: error, typed: true });
  });
  return isPublicationDraft(bytes)
    ? { kind: 'publication', draft: await parsePublicationDraft(bytes) }
    : { kind: 'root', draft: await parseDraft(bytes) };
}

/** One byte more than is allowed, at most: whoever parses it refuses that. */
async function readBounded(file: string): Promise<Uint8Array> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(Math.min(size, MAXIMUM_PUBLICATION_DRAFT + 1));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** What signing did. */
export interface PublicationSigned {
  /** Key ids that signed now. */
  readonly keyids: readonly string[];
  readonly missing: number;
}

/**
 * Adds the signatures of a key file to a publication, in its place.
 *
 * @param draft - what the signer was shown
 * @throws PublishError `signer-unknown`, and those of key files
 */
export async function signPublicationFile(
  file: string,
  draft: PublicationDraft,
  keyFile: string,
  passphrase: string,
): Promise<PublicationSigned> {
  const { signers } = await openSigningKeys(await readSigningKeys(keyFile), passphrase, keyFile);
  if (!signers.some(({ keyid }) => maySignPublication(draft, keyid))) {
    throw new PublishError('signer-unknown', `no key in ${keyFile} may sign for targets of this publisher`);
  }
  const signed = signPublicationDraft(draft, signers);
  await replaceFile(file, encodePublicationDraft(signed), 0o644);
  const before = signersOfDraft(draft);
  const keyids = signersOfDraft(signed).filter((keyid) => !before.includes(keyid));
  return { keyids, missing: missingOfPublication(signed) };
}

/** Where a publication waits, and for how many. */
export interface PublicationGathered {
  readonly file: string;
  readonly version: number;
  readonly missing: number;
}

/**
 * Puts the signatures of copies into the publication that waits beside the configuration. Nothing is signed.
 *
 * @throws PublishError `draft-stale`, `draft-malformed`: what was gathered is kept then
 */
export function gatherIntoPublication(
  configurationFile: string,
  copies: readonly [PublicationDraft, ...PublicationDraft[]],
): Promise<PublicationGathered> {
  const workspace = workspaceOf(configurationFile);
  return withLock(workspace, async () => {
    const [{ version }] = copies;
    const file = publicationDraftFile(workspace, version);
    const bytes = await readIfThere(file);
    if (bytes === undefined) throw stale(version);
    const waiting = await parsePublicationDraft(bytes);
    if (!copies.every((copy) => samePublication(waiting, copy))) throw stale(version);
    const merged = copies.reduce(mergeDrafts, waiting);
    await replaceFile(file, encodePublicationDraft(merged), 0o644);
    return { file, version, missing: missingOfPublication(merged) };
  });
}

function stale(version: number): PublishError {
  return new PublishError('draft-stale', `this is not the publication ${version} that waits here for signatures`, {
    hint: 'it was published, or the site changed since: run "wispr publish", and let the new file be signed if it leaves one',
  });
}
