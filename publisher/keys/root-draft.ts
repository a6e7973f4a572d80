/**
 * A root that waits for signatures, `root.N.json`: the envelope that it will be, and the chain of roots before it, so that signers see who
 * asks and what changes. It is no secret. Everything in it is checked before anything is shown or signed.
 *
 *   {"chain":[base64url of 1.root.json …],"signatures":[…],"signed":{…}}
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { equalBytes, fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { tufCanonical } from '../../core/publication/canonical.ts';
import { encodeEnvelope, openEnvelope } from '../../core/publication/envelope.ts';
import { countSigners, type RoleSigner, type TufSignature, verifyEd25519 } from '../../core/publication/keys.ts';
import { parseRoot, type RootMetadata } from '../../core/publication/metadata.ts';
import { rootIdOf, rootMetadata, signMessage } from '../../core/publication/writer.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { replaceFile } from './file-update.ts';
import { rolesOf, verifyChain } from './roots.ts';
import { openSigningKeys, readSigningKeys } from './signing-keys.ts';

const MAXIMUM_DRAFT_LENGTH = 16 * 1024 * 1024;

export interface RootDraft {
  readonly chain: readonly Uint8Array[];
  readonly rootId: string;
  readonly message: Uint8Array;
  /** The valid signatures, one of each key. */
  readonly signatures: readonly TufSignature[];
  readonly before: RootMetadata;
  readonly after: RootMetadata;
}

export interface Missing {
  /** Signatures of keys that could sign before. */
  readonly before: number;
  /** Signatures of keys that may sign then. */
  readonly after: number;
}

/** @throws PublicationError if `chain` is not one */
export async function makeDraft(
  chain: readonly Uint8Array[],
  message: Uint8Array,
  signatures: readonly TufSignature[] = [],
): Promise<RootDraft> {
  const before = await verifyChain(chain);
  const after = parseRoot(openEnvelope(encodeEnvelope([], message), 'root').signed());
  if (after.version !== before.version + 1 || !(await saysOnlyWhatIsShown(after, message))) throw malformed(undefined);
  const [first = new Uint8Array(0)] = chain;
  const empty = { chain, rootId: await rootIdOf(first), message, signatures: [], before, after };
  return withSignatures(empty, signatures);
}

/**
 * Tells whether a root is, byte for byte, the one that its roles, keys, version and expiry make. Signers are shown key ids: so each has to be
 * that of the key under it, or the key of a role could be exchanged unseen; and a root may say nothing else.
 */
async function saysOnlyWhatIsShown(after: RootMetadata, message: Uint8Array): Promise<boolean> {
  const { version, expires } = after;
  return equalBytes(message, tufCanonical(await rootMetadata({ version, expires }, rolesOf(after))));
}

export function encodeDraft({ chain, signatures, message }: RootDraft): Uint8Array {
  const envelope = fromUtf8(encodeEnvelope(signatures, message)) ?? '';
  return utf8(`{"chain":${JSON.stringify(chain.map(toBase64url))},${envelope.slice(1)}\n`);
}

/** @throws PublishError `draft-refused` */
async function parseDraft(bytes: Uint8Array): Promise<RootDraft> {
  if (bytes.length > MAXIMUM_DRAFT_LENGTH) throw malformed(undefined);
  try {
    const value = JSON.parse(fromUtf8(bytes) ?? '') as Json;
    const chain =
      isJsonObject(value) && Array.isArray(value.chain) ? value.chain.map((text) => fromBase64url(text)) : [];
    if (!chain.every((root) => root !== undefined)) throw new TypeError('its chain');
    const { message, signatures } = openEnvelope(bytes, 'root', MAXIMUM_DRAFT_LENGTH);
    return await makeDraft(chain, message, signatures);
  } catch (error) {
    throw error instanceof PublishError ? error : malformed(error);
  }
}

/** Adds to a draft those of `signatures` that are good and not yet there. */
export async function withSignatures(draft: RootDraft, signatures: readonly TufSignature[]): Promise<RootDraft> {
  const kept = [...draft.signatures];
  for (const signature of signatures) {
    const isNew = kept.every(({ keyid }) => keyid !== signature.keyid);
    if (isNew && (await isGood(draft, signature))) kept.push({ keyid: signature.keyid, sig: signature.sig });
  }
  return { ...draft, signatures: kept };
}

/** Signs a draft with the keys of those of `signers` that may sign it. */
export function signDraft(draft: RootDraft, signers: readonly RoleSigner[]): Promise<RootDraft> {
  const may = signers.filter(({ keyid }) => maySign(draft, keyid));
  return withSignatures(
    draft,
    may.map((signer) => signMessage(draft.message, signer)),
  );
}

function maySign({ before, after }: RootDraft, keyid: string): boolean {
  return before.roles.root.keyids.includes(keyid) || after.roles.root.keyids.includes(keyid);
}

/** Counts the signatures that the root before and the new one still need (TUF, 5.3.4). */
export async function missingSignatures({ before, after, message, signatures }: RootDraft): Promise<Missing> {
  const missing = async ({ roles: { root }, keys }: RootMetadata) =>
    root.threshold - (await countSigners(signatures, message, root, keys, verifyEd25519));
  return { before: await missing(before), after: await missing(after) };
}

export function finishedRoot({ signatures, message }: RootDraft): Uint8Array {
  return encodeEnvelope(signatures, message);
}

export function follows({ chain }: RootDraft, roots: readonly Uint8Array[]): boolean {
  return (
    chain.length === roots.length && chain.every((root, index) => equalBytes(root, roots[index] ?? new Uint8Array(0)))
  );
}

async function isGood({ before, after, message }: RootDraft, signature: TufSignature): Promise<boolean> {
  const counts = [before, after].map(({ roles, keys }) =>
    countSigners([signature], message, { ...roles.root, threshold: 1 }, keys, verifyEd25519),
  );
  return (await Promise.all(counts)).includes(1);
}

function malformed(cause: unknown): PublishError {
  return new PublishError('draft-refused', 'this is not a root that waits for signatures, or it was altered', {
    cause,
  });
}

/** @throws PublishError `draft-refused` */
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
    throw new PublishError('draft-refused', describeUnreadable(file, error), { cause: error, typed: true });
  }
  throw new PublishError('draft-refused', `${file} is longer than ${MAXIMUM_DRAFT_LENGTH} bytes`, { typed: true });
}

export interface Signed {
  readonly keyids: readonly string[];
  readonly missing: Missing;
}

/**
 * Adds the signatures of a key file to a draft, in its place.
 *
 * @param draft - what the signer was shown
 * @throws PublishError `signatures-missing`, `draft-refused` if the file changed since it was shown, and those of key files
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
      'signatures-missing',
      `no key in ${keyFile} is a root key of this publisher, before or after the change`,
    );
  }
  const { message, signatures } = await readDraft(file);
  if (!equalBytes(message, draft.message))
    throw new PublishError('draft-refused', `${file} changed since it was shown; nothing was signed`);
  const known = await withSignatures(draft, signatures);
  const signed = await signDraft(known, signers);
  await replaceFile(file, encodeDraft(signed), 0o644);
  const before = known.signatures.map(({ keyid }) => keyid);
  const keyids = signed.signatures.map(({ keyid }) => keyid).filter((keyid) => !before.includes(keyid));
  return { keyids, missing: await missingSignatures(signed) };
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
