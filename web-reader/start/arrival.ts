/** Takes keys that arrive from the vault: docs/spec/web-reader.md, "The bounce", step 4. */
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { openDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { restorePair } from '../pair.ts';
import { handleOf, type OriginStore, STATE } from '../store.ts';

/** Fields that came with the form, both in base64url. */
export interface Arrival {
  readonly sealed: string;
  /** Public key that the bounce began with. */
  readonly key: string;
}

/**
 * Opens the keys that came with the page, and stores them.
 *
 * @param contentOrigin - `location.origin`
 * @throws KeyError `hand-over-refused`; no key was stored
 */
export async function acceptKeys(store: OriginStore, { sealed, key }: Arrival, contentOrigin: string): Promise<void> {
  // V1
  const bounce = await store.pending.consume(key);
  if (!bounce) throw new KeyError('hand-over-refused', 'no keys were asked for');
  const recipient = await restorePair(bounce.pair);
  const {
    keys,
    pair: newest,
    refused,
  } = await openDocumentKeys(recipient, contentOrigin, fromBase64url(sealed) ?? new Uint8Array());
  await store.keys.put(await Promise.all(keys.map(handleOf)));
  const { isSilent, sets } = bounce;
  const answer = { at: Date.now(), isAnswered: true, isSilent };
  for (const set of sets)
    await store.asked.put(set, { ...answer, reason: refused.find(({ id }) => id === set)?.reason });
  await store.state.put(STATE.nobody, keys.length + refused.length === 0 ? answer.at : 0);
  if (newest) await store.state.put(STATE.pair, newest);
}
