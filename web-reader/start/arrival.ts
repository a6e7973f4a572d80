/** Takes keys that arrive from the vault: docs/spec/web-reader.md, "The bounce", step 4. */
import { type DocumentKey, openDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { parseSealed } from '../bounce.ts';
import { STATE, type Store, type StoredKey } from '../store.ts';

/**
 * Opens the keys in an address, and stores them.
 *
 * @param fragment - `location.hash`
 * @param contentOrigin - `location.origin`
 * @returns path, query and fragment to go on to; `undefined` where the address holds no keys
 * @throws KeyError `hand-over-refused`; no key was stored
 */
export async function takeArrival(store: Store, fragment: string, contentOrigin: string): Promise<string | undefined> {
  const arrived = parseSealed(fragment, contentOrigin);
  if (!arrived) return undefined;
  // V1
  const pair = await store.pending.take();
  if (!pair) throw new KeyError('hand-over-refused', 'no keys were asked for');
  const { keys, pair: newest, refused } = await openDocumentKeys(pair, contentOrigin, arrived.sealed);
  await store.keys.put(await Promise.all(keys.map(handleOf)));
  await store.state.put(STATE.refused, refused);
  await store.state.put(STATE.answered, Object.fromEntries([...keys, ...refused].map(({ id }) => [id, Date.now()])));
  if (newest) await store.state.put(STATE.pair, newest);
  return arrived.to;
}

async function handleOf({ id, key, notBefore, notAfter }: DocumentKey): Promise<StoredKey> {
  const bytes = key as Uint8Array<ArrayBuffer>;
  const handle = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-512' }, false, ['sign']);
  return { id, key: handle, notBefore, notAfter };
}
