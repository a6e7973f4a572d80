/** Keys of roles, and whether enough of them have signed (TUF specification sections 4.2 and 4.3). */
import { ed25519Verify, type KeyPair } from '#primitives';
import { hexDigest, isHexDigest } from '../encoding/digest.ts';
import { fromHex, toHex } from '../encoding/hex.ts';
import { type TufObject, tufCanonical } from './canonical.ts';

/** A public key as metadata name it. */
export interface TufKey {
  readonly keytype: string;
  readonly scheme: string;
  /** Value of `keyval.public`. */
  readonly public: string;
}

/** Keys that may sign for a role, and how many of them have to. */
export interface RoleKeys {
  readonly keyids: readonly string[];
  readonly threshold: number;
}

export interface TufSignature {
  readonly keyid: string;
  /** Hexadecimal; empty where a signature is still missing. */
  readonly sig: string;
}

/** Says whether a signature is good. Others than {@link verifyEd25519} are for programs that read foreign repositories. */
export type SignatureVerifier = (key: TufKey, signature: Uint8Array, message: Uint8Array) => Promise<boolean>;

/** Ed25519 and nothing else. */
export const verifyEd25519: SignatureVerifier = async (key, signature, message) => {
  if (key.keytype !== 'ed25519' || key.scheme !== 'ed25519') return false;
  const publicKey = fromHex(key.public, 32);
  return publicKey !== undefined && signature.length === 64 && ed25519Verify(signature, message, publicKey);
};

/** Encodes an Ed25519 public key for metadata. */
export function encodeTufKey(publicKey: Uint8Array): TufObject {
  return { keytype: 'ed25519', keyval: { public: toHex(publicKey) }, scheme: 'ed25519' };
}

/** The key id of an Ed25519 public key: SHA-256 of its canonical form. */
export async function tufKeyId(publicKey: Uint8Array): Promise<string> {
  return hexDigest(tufCanonical(encodeTufKey(publicKey)));
}

/** Tells whether all are of the form of {@link tufKeyId}: on a bound site, no others are read. */
export function areTufKeyIds(texts: Iterable<string>): boolean {
  return [...texts].every(isHexDigest);
}

export interface RoleSigner extends KeyPair {
  readonly keyid: string;
}

export async function roleSigner(pair: KeyPair): Promise<RoleSigner> {
  return { ...pair, keyid: await tufKeyId(pair.publicKey) };
}

/**
 * Counts the different keys of a role that have signed. One key counts once, under however many ids it stands or signs; invalid signatures are
 * skipped, and no more are checked than the threshold needs.
 */
export async function countSigners(
  signatures: readonly TufSignature[],
  message: Uint8Array,
  role: RoleKeys,
  keys: ReadonlyMap<string, TufKey>,
  verify: SignatureVerifier,
): Promise<number> {
  const signed = new Set<string>();
  for (const { keyid, sig } of signatures) {
    const key = role.keyids.includes(keyid) ? keys.get(keyid) : undefined;
    const signature = key && fromHex(sig);
    if (!key || !signature || signed.has(key.public) || signed.size >= role.threshold) continue;
    if (await verify(key, signature, message)) signed.add(key.public);
  }
  return signed.size;
}
