/** Asks for keys: docs/spec/web-reader.md, "The bounce", step 1. */
import type { KeyId } from '../../core/keys/key-id.ts';
import { x25519KeyPair, x25519PublicKey } from '../../core/primitives/webcrypto-x25519.ts';
import { addressOfVault } from '../bounce.ts';
import type { Store } from '../store.ts';
import { scope } from './scope.ts';

/**
 * Begins a bounce: makes the key pair, and keeps it.
 *
 * @param to - where the reader wanted to go: path, query and fragment
 * @param sets - set ids that are wanted
 * @returns the address to lead the window to
 * @throws DOMException `NotSupportedError` where the browser has no X25519
 */
export async function requestKeys(store: Pick<Store, 'pending'>, to: string, sets: readonly KeyId[]): Promise<string> {
  const pair = await x25519KeyPair(false);
  await store.pending.put(pair);
  return addressOfVault(scope.wisprSite.reading, { key: await x25519PublicKey(pair), sets, to });
}
