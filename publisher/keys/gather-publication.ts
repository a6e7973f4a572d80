/** Signatures by file, for a publication that keys of `targets` on several machines have to sign: `wispr keys sign` and `wispr keys finish`. */
import { nowInSeconds } from '../../node-support/clock.ts';
import { PublishError } from '../errors.ts';
import { publishAgainCommand } from '../publish/publish-command.ts';
import { publicationDraftFile, withLock, workspaceOf } from '../workspace.ts';
import { replaceFile } from './file-update.ts';
import {
  encodePublicationDraft,
  isPublicationDraft,
  maySignPublication,
  mergeDrafts,
  missingOfPublication,
  type PublicationDraft,
  parsePublicationDraft,
  samePublication,
  signersOfDraft,
  signPublicationDraft,
} from './publication-draft.ts';
import { type PublicationReview, reviewPublication } from './publication-review.ts';
import { readDraftFile, readDraftIfThere } from './read-draft.ts';
import { parseDraft, type RootDraft } from './root-draft.ts';
import { readSigningKeys } from './signer-file.ts';
import { readMemory, withMemory } from './signer-memory.ts';
import { openSigningKeys } from './signing-keys.ts';
import { changedMeanwhile, withDraftFile } from './update-draft.ts';

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
  const bytes = await readDraftFile(file);
  return isPublicationDraft(bytes)
    ? { kind: 'publication', draft: await parsePublicationDraft(bytes) }
    : { kind: 'root', draft: await parseDraft(bytes) };
}

/** A publication as it is shown to a signer. */
export interface ReviewedPublication {
  readonly draft: PublicationDraft;
  readonly review: PublicationReview;
}

/**
 * What is to be shown before a key signs.
 *
 * @throws PublishError `signer-bound`, `draft-rolled-back`, and those of what is remembered
 */
export async function reviewForSigner(draft: PublicationDraft, keyFile: string): Promise<ReviewedPublication> {
  return { draft, review: await reviewPublication(draft, await readMemory(keyFile), nowInSeconds()) };
}

/** What signing did. */
export interface PublicationSigned {
  /** Key ids that signed now. */
  readonly keyids: readonly string[];
  readonly missing: number;
}

/**
 * Adds the signatures of a key file to a publication, in its place, and remembers what was signed: that first.
 *
 * @param shown - what the signer was shown
 * @throws PublishError `signer-unknown`, `draft-stale` if the file is another one by now, and those of key files
 */
export async function signPublicationFile(
  file: string,
  shown: ReviewedPublication,
  keyFile: string,
  passphrase: string,
): Promise<PublicationSigned> {
  const { signers, rootId } = await openSigningKeys(await readSigningKeys(keyFile), passphrase, keyFile);
  const isTheirs = rootId === undefined || rootId === shown.draft.rootId;
  if (!isTheirs || !signers.some(({ keyid }) => maySignPublication(shown.draft, keyid))) {
    throw new PublishError('signer-unknown', `no key in ${keyFile} may sign for targets of this publisher`);
  }
  return withMemory(keyFile, (memory, remember) =>
    withDraftFile(file, async () => {
      const review = await reviewPublication(shown.draft, memory, nowInSeconds());
      if (JSON.stringify(review.overtaken) !== JSON.stringify(shown.review.overtaken)) throw changedMeanwhile(file);
      const draft = await readAgain(file, shown.draft);
      const signed = signPublicationDraft(draft, signers);
      await remember(review.after);
      await replaceFile(file, encodePublicationDraft(signed), 0o644);
      const before = signersOfDraft(draft);
      const keyids = signersOfDraft(signed).filter((keyid) => !before.includes(keyid));
      return { keyids, missing: missingOfPublication(signed) };
    }),
  );
}

/** What was shown, with the signatures that the file has by now. */
async function readAgain(file: string, shown: PublicationDraft): Promise<PublicationDraft> {
  const bytes = await readDraftFile(file);
  const draft = isPublicationDraft(bytes) ? await parsePublicationDraft(bytes) : undefined;
  if (draft === undefined || !samePublication(draft, shown)) throw changedMeanwhile(file);
  return mergeDrafts(shown, draft);
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
export async function gatherIntoPublication(
  configurationFile: string,
  copies: readonly [PublicationDraft, ...PublicationDraft[]],
): Promise<PublicationGathered> {
  const workspace = workspaceOf(configurationFile);
  const again = await publishAgainCommand(configurationFile);
  return withLock(workspace, async () => {
    const [{ version }] = copies;
    const file = publicationDraftFile(workspace, version);
    const bytes = await readDraftIfThere(file);
    if (bytes === undefined) throw stale(version, again);
    const waiting = await parsePublicationDraft(bytes);
    if (!copies.every((copy) => samePublication(waiting, copy))) throw stale(version, again);
    const merged = copies.reduce(mergeDrafts, waiting);
    await replaceFile(file, encodePublicationDraft(merged), 0o644);
    return { file, version, missing: missingOfPublication(merged) };
  });
}

function stale(version: number, publishAgain: string): PublishError {
  return new PublishError('draft-stale', `this is not the publication ${version} that waits here for signatures`, {
    hint: `it was published, or the site changed since: run "${publishAgain}", and let the new file be signed if it leaves one`,
  });
}
