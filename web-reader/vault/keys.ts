/** Asks the key server for set keys: docs/spec/web-reader.md, "Key requests". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { DeviceKeyHandle } from '../../core/keys/device-key.ts';
import type { DocumentKey, DocumentKeys } from '../../core/keys/document-keys.ts';
import { encodeKeyRequest, type KeyAnswer, openKeyAnswer } from '../../core/keys/key-request.ts';
import { MAXIMUM_KEYS_PER_REQUEST } from '../../core/keys/refused-key.ts';
import { unwrapKey } from '../../core/keys/wrapped-key.ts';
import { comparePairs, type PublicationPair } from '../../core/publication/pair.ts';
import { readVault, writeVault } from './database.ts';
import { type AnsweredDevice, becomeDevice, findDevice } from './device.ts';
import { KeyServerRefusal, post, type VaultData } from './page.ts';

const PAIR = 'pair';

/**
 * Obtains the keys of the sets that are wanted, and of others that the reader may read.
 *
 * @throws KeyError `binding-malformed`, `answer-unreadable`, `wrapped-key-invalid`, `key-not-valid-now`; KeyServerRefusal
 */
export async function obtainKeys(page: VaultData, wanted: readonly KeyId[]): Promise<DocumentKeys> {
  const pair = await greatestPair(page.pair);
  const sets = [...new Set([...wanted, ...page.sets])].slice(0, MAXIMUM_KEYS_PER_REQUEST);
  if (page.isVisitor || sets.length === 0) return { keys: [], refused: [], pair, time: page.now() };
  const { answer, device } = await askAsDevice(page, sets);
  const keys = await Promise.all(
    answer.keys.map(async (wrapped): Promise<DocumentKey> => {
      const { id, notBefore, notAfter } = wrapped;
      const key = await unwrapKey(device, wrapped, page.now());
      return { id, key, notBefore, notAfter, title: page.titles[id] };
    }),
  );
  return { keys, refused: answer.refused.filter(({ id }) => wanted.includes(id)), pair, time: answer.time };
}

/** Replaces a device that another person connected here, or that was removed: a reader who is signed in may have one. Windows share it. */
async function askAsDevice(page: VaultData, sets: readonly KeyId[]): Promise<AnsweredDevice> {
  const known = await findDevice();
  const answer = known && (await ask(page, known, sets));
  if (answer) return { answer, device: known };
  return navigator.locks.request('wispr-device', async () => {
    const device = await findDevice();
    if (!device || device.id === known?.id) return becomeDevice(page, sets);
    const second = await ask(page, device, sets);
    if (!second) throw new KeyServerRefusal('revoked');
    return { answer: second, device };
  });
}

/** @returns `undefined` where the device is unknown, or was removed */
async function ask(page: VaultData, device: DeviceKeyHandle, sets: readonly KeyId[]): Promise<KeyAnswer | undefined> {
  const request = await encodeKeyRequest(device, page.vault, sets, page.now());
  try {
    const answer = await openKeyAnswer(await post('/-/key-requests', request), request, device);
    return answer.refused.every(({ reason }) => reason === 'revoked') && answer.keys.length === 0 ? undefined : answer;
  } catch (error) {
    if (error instanceof KeyServerRefusal && error.code === 'request-refused') return undefined;
    throw error;
  }
}

/** The vault remembers the greatest pair: published scripts can take it away from the content origin. */
async function greatestPair(confirmed: PublicationPair | undefined): Promise<PublicationPair | undefined> {
  const known = (await readVault(PAIR)) as PublicationPair | undefined;
  if (!confirmed || (known && comparePairs(known, confirmed) >= 0)) return known;
  await writeVault(PAIR, confirmed);
  return confirmed;
}
