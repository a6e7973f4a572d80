/** Files with seeds of signing keys and nothing else: `root.keys`, and those of further signers and of machines that sign timestamps. */
import { ed25519KeyPair } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { hasMembers, isJsonObject, type Json, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { isKeyId, KEY_LENGTH, type KeyId } from '../../core/keys/key-id.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import type { Argon2idCost } from '../../node-support/argon2id.ts';
import { createSealedFile, damagedFile, type OpenSealedFile, openSealedFile, type SealedKind } from './sealed-file.ts';

/** An opened file of signing keys. */
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
 * Opens a file of signing keys.
 *
 * @param name - how messages call it
 * @throws PublishError `key-store-damaged`, `key-store-parameters`, `passphrase-wrong`
 */
export async function openSigningKeys(bytes: Uint8Array, passphrase: string, name: string): Promise<OpenSigningKeys> {
  const kind = kindOf(name);
  const file = await openSealedFile(kind, bytes, passphrase);
  const { seeds, rootId } = parseContent(file.content, kind);
  return opened(file, seeds, rootId);
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
