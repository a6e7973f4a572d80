/** Asks for keys: docs/spec/web-reader.md, "The bounce", step 1. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { addressOfVault } from '../bounce.ts';
import { storablePair } from '../pair.ts';
import type { OriginStore } from '../store.ts';

/**
 * Begins a bounce: makes the key pair, and keeps it.
 *
 * @param vault - origin
 * @param to - where the reader wanted to go: path, query and fragment
 * @param sets - set ids that are wanted
 * @returns the address to lead the window to
 * @throws DOMException `NotSupportedError` where the browser has no X25519
 */
export async function requestKeys(
  { pending }: Pick<OriginStore, 'pending'>,
  vault: string,
  to: string,
  sets: readonly KeyId[],
): Promise<string> {
  const { pair, stored } = await storablePair();
  await pending.put(stored);
  return addressOfVault(vault, { key: await x25519PublicKey(pair), sets, to });
}
