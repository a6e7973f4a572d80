/** Takes keys that arrive from the vault: docs/spec/web-reader.md, "The bounce", step 4. */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { openDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { restorePair } from '../pair.ts';
import { handleOf, type OriginStore, STATE } from '../store.ts';

/**
 * Opens the keys that came with the page, and stores them.
 *
 * @param sealed - base64url
 * @param contentOrigin - `location.origin`
 * @throws KeyError `hand-over-refused`; no key was stored
 */
export async function acceptKeys(store: OriginStore, sealed: string, contentOrigin: string): Promise<void> {
  // V1
  const stored = await store.pending.consume();
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
