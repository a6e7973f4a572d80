/** Files with seeds of signing keys and nothing else: `root.keys`, and those of further signers and of machines that sign timestamps. */
import { ed25519KeyPair } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { hasMembers, isJsonObject, type Json, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { createSealedFile, damagedFile, openSealedFile, type SealedKind } from './sealed-file.ts';

/** An opened file of signing keys. */
export interface OpenSigningKeys {
  readonly seeds: readonly Uint8Array[];
  readonly signers: readonly RoleSigner[];
  /** The bytes of the file with these seeds, under the same passphrase. */
  seal(seeds: readonly Uint8Array[]): Promise<Uint8Array>;
}

/** @throws PublishError `passphrase-too-short` */
export function createSigningKeys(passphrase: string, seeds: readonly Uint8Array[]): Promise<Uint8Array> {
  return createSealedFile(kindOf('the key file'), passphrase, contentOf(seeds));
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
  const seeds = parseSeeds(file.content, kind);
  const signers = await Promise.all(seeds.map((seed) => roleSigner(ed25519KeyPair(seed))));
  return { seeds, signers, seal: (changed) => file.seal(contentOf(changed)) };
}

function kindOf(name: string): SealedKind {
  return { version: 'wispr signing keys 1', name };
}

function contentOf(seeds: readonly Uint8Array[]): JsonObject {
  return { seeds: seeds.map(toBase64url) };
}

function parseSeeds(value: Json | undefined, kind: SealedKind): Uint8Array[] {
  if (!isJsonObject(value) || !hasMembers(value, ['seeds']) || !Array.isArray(value.seeds)) throw damagedFile(kind);
  return value.seeds.map((text) => {
    const seed = fromBase64url(text, KEY_LENGTH);
    if (seed === undefined) throw damagedFile(kind);
    return seed;
  });
}
