/**
 * A publication that more keys of `targets` have to sign than are here: docs/keys.md, "More than one signature". What is to be signed is left
 * in `publication.N.draft`; a later run takes up the signatures in it if it would sign the very same, byte for byte. Nothing but objects, which
 * nobody is sent to, is in the output until then: so the publication before stays as it was, with its pages.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { binName, DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { tufCanonical } from '../../core/publication/canonical.ts';
import { encodeEnvelope, openEnvelope } from '../../core/publication/envelope.ts';
import { parseTargets } from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile, ownTargetsOf, targetFile } from '../../core/publication/names.ts';
import { ROLE_VALIDITY } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { readIfThere, replaceFile } from '../keys/file-update.ts';
import { baseOfBin, bitsOf, isBase } from '../keys/publication-bases.ts';
import {
  type DraftParts,
  digestOfPublication,
  earlierRole,
  encodePublicationDraft,
  makePublicationDraft,
  missingOfPublication,
  type PublicationDraft,
  parsePublicationDraft,
  samePublication,
  signPublicationDraft,
} from '../keys/publication-draft.ts';
import { MAXIMUM_DRAFT_FILE, readDraftIfThere } from '../keys/read-draft.ts';
import { verifyChain } from '../keys/roots.ts';
import { count } from '../text.ts';
import { publicationDraftFile, type Workspace } from '../workspace.ts';
import { readTimestamp } from './earlier-publication.ts';
import type { Gathered } from './publication.ts';
import {
  contentsToSign,
  needsTargets,
  nextVersion,
  type PublicationContext,
  planSigning,
  RENEWAL,
  type SigningPlan,
} from './signing-plan.ts';

/**
 * Signatures of others for what is to be published now.
 *
 * @returns `undefined` if the keys that are here are enough, or nothing is to be signed with them
 * @throws PublishError `signatures-missing`, with a draft left where others can sign it
 */
export async function gatherSignatures(
  context: PublicationContext,
  workspace: Workspace,
): Promise<Gathered | undefined> {
  const { targets, targetsKeys } = context.roles;
  if (targets.length >= targetsKeys.threshold) return undefined;
  const work = await planSigning(context);
  if (!needsTargets(work)) return undefined;
  const file = publicationDraftFile(workspace, context.lastVersion);
  const waiting = await waitingDraft(context, work, file);
  if (waiting === undefined) throw await beginGathering(context, work, workspace);
  const draft = signPublicationDraft(waiting, targets);
  const missing = missingOfPublication(draft);
  if (missing > 0) {
    await replaceFile(file, encodePublicationDraft(draft), 0o644);
    throw stillMissing(draft, file, missing);
  }
  const { version, expires } = draft;
  const files = draft.roles.map(
    ({ name, signatures, message }) => [name, encodeEnvelope(signatures, message)] as const,
  );
  return { version, expires, files: new Map(files) };
}

/** Drafts of what is published, or was overtaken. */
export async function removeOldDrafts({ directory }: Workspace, version: number): Promise<void> {
  for (const name of await readdir(directory)) {
    const number = /^publication\.([1-9]\d{0,15})\.draft$/.exec(name)?.[1];
    if (number !== undefined && Number(number) <= version) await rm(join(directory, name), { force: true });
  }
}

/** The draft that an earlier run left, if it is that run's, and what would be signed now is still the same. */
async function waitingDraft(
  context: PublicationContext,
  work: SigningPlan,
  file: string,
): Promise<PublicationDraft | undefined> {
  const { index, lastVersion, now, out } = context;
  const bytes = await readDraftIfThere(file).catch(() => undefined);
  const draft = bytes && (await parsePublicationDraft(bytes).catch(() => undefined)); // damaged: made again
  if (draft === undefined || draft.version !== lastVersion || draft.expires <= now + RENEWAL) return undefined;
  const published = (await readTimestamp(out))?.snapshot.version ?? 0;
  if (Math.max(published, Number(index.fact('version') ?? 0)) >= draft.version) return undefined;
  if (index.fact('draft') !== (await digestOfPublication(draft))) return undefined; // what is signed here was made here
  const { version, expires } = draft;
  const roles = await rolesToSign(context, work, { version, expires });
  return sameRoots(draft.chain, context.roles.roots) && samePublication({ roles }, draft) ? draft : undefined;
}

/** Leaves a draft with the signatures of the keys that are here. The version first: no other publication may ever have it. */
async function beginGathering(
  context: PublicationContext,
  work: SigningPlan,
  workspace: Workspace,
): Promise<PublishError> {
  const { roots, targets } = context.roles;
  const version = nextVersion(context);
  const roles = await rolesToSign(context, work, { version, expires: context.now + ROLE_VALIDITY.targets });
  const before = await listsBefore(context, work);
  const { descriptor, settings } = context;
  const filesBefore = await ownFilesBefore(context, before.get('targets'));
  const parts: DraftParts = { chain: roots, descriptor, settings, filesBefore, before, roles };
  await context.raiseVersion(version);
  const draft = signPublicationDraft(await makePublicationDraft(parts), targets);
  const bytes = encodePublicationDraft(draft);
  if (bytes.length > MAXIMUM_DRAFT_FILE) return tooLarge(bytes.length);
  await removeOldDrafts(workspace, version);
  context.index.setFact('draft', await digestOfPublication(draft));
  const file = publicationDraftFile(workspace, version);
  await replaceFile(file, bytes, 0o644);
  return stillMissing(draft, file, missingOfPublication(draft));
}

async function rolesToSign(
  context: PublicationContext,
  work: SigningPlan,
  about: { readonly version: number; readonly expires: number },
): Promise<DraftParts['roles'][number][]> {
  const roles: DraftParts['roles'][number][] = [];
  for await (const [name, content] of contentsToSign(context, work, about))
    roles.push({ name, message: tufCanonical(content), signatures: [] });
  return roles;
}

/** What the same keys signed before of what is signed now; where there are more bins now, the old ones that these were parts of. */
async function listsBefore(
  context: PublicationContext,
  { bins, bits, roles }: SigningPlan,
): Promise<Map<string, Uint8Array>> {
  const root = verifyChain(context.roles.roots);
  const before = new Map<string, Uint8Array>();
  const take = async (name: string, bitsBefore?: number) => {
    const file = metadataFile(name, roles.get(name)?.version ?? 0);
    const bytes = await readIfThere(join(context.out, METADATA_PATH, file));
    const list = bytes && earlierRole(root, name, bytes);
    if (!bytes || !list || !(await isBase(name, list, bitsBefore))) return undefined;
    before.set(name, bytes);
    return list;
  };
  await take('targets');
  const oldBits = bitsOf(await take(DOCUMENTS_ROLE));
  if (oldBits === undefined || oldBits > bits) return before;
  const names = new Set(bins.map((bin) => baseOfBin(binName(bin, bits), bits, oldBits)));
  for (const name of names) await take(name, oldBits);
  return before;
}

/** Descriptor and settings that are others now, as the earlier `targets` named them. */
async function ownFilesBefore(
  { out, ...own }: PublicationContext,
  earlier: Uint8Array | undefined,
): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  if (earlier === undefined) return files;
  const targets = parseTargets(openEnvelope(earlier, 'targets').signed(), 'targets');
  for (const [target, bytes] of ownTargetsOf(own)) {
    const hash = targets.target(target)?.sha256;
    const old = hash && (await readIfThere(join(out, targetFile(target, hash))));
    // A file that was altered is no help; without it, signers are shown all of the new one.
    if (old && (await hexDigest(old)) === hash && !equalBytes(old, bytes)) files.set(target, old);
  }
  return files;
}

function sameRoots(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((root, index) => equalBytes(root, b[index] ?? new Uint8Array(0)));
}

function stillMissing({ version, root }: PublicationDraft, file: string, missing: number): PublishError {
  const { threshold } = root.roles.targets;
  const message = `targets needs ${threshold} signatures, and publication ${version} still lacks ${missing}; readers find the publication before`;
  return new PublishError('signatures-missing', message, {
    hint: `let other signers run "wispr keys sign" on ${file}, put what comes back there, and run this again; or bring their key files: --key FILE`,
  });
}

function tooLarge(length: number): PublishError {
  const message = `too much changed at once to let others sign it by file: ${count(length, 'byte')}`;
  return new PublishError('signatures-missing', message, { hint: "bring the other signers' key files: --key FILE" });
}
