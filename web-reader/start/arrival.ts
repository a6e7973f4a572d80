/** Takes keys that arrive from the vault: docs/spec/web-reader.md, "The bounce", step 4. */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { type DocumentKey, openDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { restorePair } from '../pair.ts';
import { STATE, type Store, type StoredKey } from '../store.ts';

/**
 * Opens the keys that came with the page, and stores them.
 *
 * @param sealed - base64url
 * @param contentOrigin - `location.origin`
 * @throws KeyError `hand-over-refused`; no key was stored
 */
export async function takeArrival(store: Store, sealed: string, contentOrigin: string): Promise<void> {
  // V1
  const stored = await store.pending.take();
  if (!stored) throw new KeyError('hand-over-refused', 'no keys were asked for');
  const recipient = await restorePair(stored);
  const {
    keys,
    pair: newest,
    refused,
  } = await openDocumentKeys(recipient, contentOrigin, fromBase64url(sealed) ?? new Uint8Array());
  await store.keys.put(await Promise.all(keys.map(handleOf)));
  await store.state.put(STATE.refused, refused);
  await store.state.put(STATE.answered, Object.fromEntries([...keys, ...refused].map(({ id }) => [id, Date.now()])));
  if (newest) await store.state.put(STATE.pair, newest);
}

async function handleOf({ id, key, notBefore, notAfter }: DocumentKey): Promise<StoredKey> {
  const bytes = key as Uint8Array<ArrayBuffer>;
  const handle = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-512' }, false, ['sign']);
  return { id, key: handle, notBefore, notAfter };
}
