/** Files with seeds of signing keys and nothing else: `root.keys`, and those of further signers and of machines that sign timestamps. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { isKeyId, KEY_LENGTH, type KeyId } from '../../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hasMembers, isJsonObject, type Json, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { type RoleSigner, roleSigner, tufKeyId } from '../../core/publication/keys.ts';
import type { Argon2idCost } from '../../node-support/argon2id.ts';
import { PublishError, whenUnreadable } from '../errors.ts';
import { MAXIMUM_SEALED_FILE_LENGTH, readKeyStore, workspaceOf } from '../workspace/workspace.ts';
import { createFile, createFiles, publicKeyIn } from './file-update.ts';
import { openKeyStore } from './key-store.ts';
import { createSealedFile, damagedFile, type OpenSealedFile, openSealedFile, type SealedKind } from './sealed-file.ts';

export interface OpenSigningKeys {
  readonly seeds: readonly Uint8Array[];
  readonly signers: readonly RoleSigner[];
  /** The root id of the publisher for whom these keys sign, where the file names one. */
  readonly rootId: KeyId | undefined;
  /** The same with other seeds: the bytes of the file, under the same passphrase, and what they open to. */
  withSeeds(seeds: readonly Uint8Array[]): Promise<{ bytes: Uint8Array; keys: OpenSigningKeys }>;
}

/** @param cost - for tests: a cheaper password hash @throws PublishError `passphrase-too-short` */
export function createSigningKeys(
  passphrase: string,
  seeds: readonly Uint8Array[],
  { rootId, cost }: { readonly rootId?: KeyId | undefined; readonly cost?: Argon2idCost | undefined } = {},
): Promise<Uint8Array> {
  return createSealedFile(kindOf('the key file'), passphrase, contentOf(seeds, rootId), cost);
}

/**
 * @param name - how messages call it
 * @throws PublishError `key-store-refused`, `passphrase-wrong`
 */
export async function openSigningKeys(bytes: Uint8Array, passphrase: string, name: string): Promise<OpenSigningKeys> {
  const kind = kindOf(name);
  const file = await openSealedFile(kind, bytes, passphrase);
  const { seeds, rootId } = parseContent(file.content, kind);
  return opened(file, seeds, rootId);
}

/** Opens the keys in a file; `undefined` where there is none, or it has another passphrase. */
export async function openSigningKeysIfOurs(file: string, passphrase: string): Promise<OpenSigningKeys | undefined> {
  if (!existsSync(file)) return undefined;
  return openSigningKeys(await readSigningKeys(file), passphrase, file).catch((error: unknown) => {
    if (error instanceof PublishError && error.code === 'passphrase-wrong') return undefined;
    throw error;
  });
}

async function opened(
  file: OpenSealedFile,
  seeds: readonly Uint8Array[],
  rootId: KeyId | undefined,
): Promise<OpenSigningKeys> {
  return {
    seeds,
    signers: await Promise.all(seeds.map((seed) => roleSigner(ed25519KeyPair(seed)))),
    rootId,
    withSeeds: async (changed) => {
      return { bytes: await file.seal(contentOf(changed, rootId)), keys: await opened(file, changed, rootId) };
    },
  };
}

function kindOf(name: string): SealedKind {
  return { version: 'wispr signing keys 1', name };
}

function contentOf(seeds: readonly Uint8Array[], rootId: KeyId | undefined): JsonObject {
  return { ...(rootId !== undefined && { root: rootId }), seeds: seeds.map(toBase64url) };
}

function parseContent(value: Json | undefined, kind: SealedKind): { seeds: Uint8Array[]; rootId: KeyId | undefined } {
  if (!isJsonObject(value) || !hasMembers(value, ['seeds'], ['root']) || !Array.isArray(value.seeds))
    throw damagedFile(kind);
  const seeds = value.seeds.map((text) => {
    const seed = fromBase64url(text, KEY_LENGTH);
    if (seed === undefined) throw damagedFile(kind);
    return seed;
  });
  return { seeds, rootId: isKeyId(value.root) ? value.root : undefined };
}

export interface NewSigner {
  /** Encrypted; stays with the signer. */
  readonly file: string;
  /** Handed to the publisher. */
  readonly publicFile: string;
  readonly keyid: string;
}

/**
 * Makes a key pair for a signer: `file`, and `file.pub`. Nothing is overwritten.
 *
 * @param cost - for tests: a cheaper password hash
 * @throws PublishError `passphrase-too-short`, `output-failed`
 */
export async function createSigner(file: string, passphrase: string, cost?: Argon2idCost): Promise<NewSigner> {
  const seed = randomBytes(KEY_LENGTH);
  const { publicKey } = ed25519KeyPair(seed);
  const publicFile = `${file}.pub`;
  const keyid = await tufKeyId(publicKey);
  const bytes = await createSigningKeys(passphrase, [seed], { cost });
  const text = `# Public key of a signer, key id ${keyid}\n# Hand it to the publisher, who runs: wispr keys add ROLE FILE\n${toBase64url(publicKey)}\n`;
  createFiles([
    { file, bytes, mode: 0o600 },
    { file: publicFile, bytes: utf8(text), mode: 0o644 },
  ]);
  return { file, publicFile, keyid };
}

/** @throws PublishError `key-file-refused` */
export async function readSigner(file: string): Promise<Uint8Array> {
  const text = await readFile(file, 'utf8').catch(whenUnreadable('key-file-refused', file, true));
  const key = publicKeyIn(text, KEY_LENGTH);
  if (key !== undefined) return key;
  throw new PublishError('key-file-refused', `${file} does not hold the public key of a signer`);
}

/** @throws PublishError `key-file-refused` */
export async function readSigningKeys(file: string): Promise<Uint8Array> {
  const bytes = await readFile(file).catch(whenUnreadable('key-file-refused', file));
  return bytes.subarray(0, MAXIMUM_SEALED_FILE_LENGTH + 1);
}

/**
 * Opens key files, as "wispr keys new-signer" makes them.
 *
 * @param passphraseFor - asked once for each file
 * @throws PublishError `key-file-refused`, `passphrase-wrong`, `key-store-refused`
 */
export async function openSigners(
  files: readonly string[],
  passphraseFor: (file: string, index: number) => Promise<string>,
): Promise<RoleSigner[]> {
  const signers: RoleSigner[] = [];
  for (const [index, file] of files.entries()) {
    const bytes = await readSigningKeys(file);
    signers.push(...(await openSigningKeys(bytes, await passphraseFor(file, index), file)).signers);
  }
  return signers;
}

/**
 * Puts the timestamp key into a file of its own, together with the root id, so that it confirms this publisher's publications only.
 *
 * @throws PublishError; nothing was written then
 */
export async function exportTimestampKey(
  configurationFile: string,
  passphrase: string,
  file: string,
  newPassphrase: string,
): Promise<{ keyid: string }> {
  const { contents, signers, rootId } = await openKeyStore(
    await readKeyStore(workspaceOf(configurationFile)),
    passphrase,
  );
  createFile(file, await createSigningKeys(newPassphrase, [contents.seeds.timestamp], { rootId }), 0o600);
  return { keyid: signers.timestamp.keyid };
}
