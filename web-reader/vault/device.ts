/** Browsers as devices: docs/spec/web-reader.md, "Devices of browsers". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { readU32 } from '../../core/encoding/bytes.ts';
import { acceptBrowserBinding, encodeBrowserBindingRequest } from '../../core/keys/binding.ts';
import { type DeviceKeyHandle, keyAnswerKey, requestMacKey, wrappingKey } from '../../core/keys/device-key.ts';
import { type KeyAnswer, openKeyAnswer } from '../../core/keys/key-request.ts';
import { macUnder, openUnder } from '../../core/primitives/webcrypto-symmetric.ts';
import { createEd25519Signer, createXwingRecipient } from '../../core/primitives/webcrypto-xwing.ts';
import { readVault, writeVault } from './database.ts';
import { xwingPartsFor } from './ml-kem.ts';
import { post, type VaultData } from './page.ts';

const STORED = 'device';

/** Stored form: no key can be extracted. */
interface StoredDevice {
  readonly id: KeyId;
  readonly mac: CryptoKey;
  readonly answer: CryptoKey;
  readonly wrapping: CryptoKey;
}

/** The device that this browser is already. */
export async function findDevice(): Promise<DeviceKeyHandle | undefined> {
  const stored = (await readVault(STORED)) as StoredDevice | undefined;
  return stored && handleOf(stored);
}

/** A device, and what it was answered when it asked for keys. */
export interface AnsweredDevice {
  readonly device: DeviceKeyHandle;
  readonly answer: KeyAnswer;
}

/**
 * Makes this browser a device of the subscriber who is signed in, and asks for keys with that. A device that it was before is forgotten.
 *
 * @throws KeyError `binding-malformed`, `answer-unreadable`; KeyServerRefusal
 */
export async function becomeDevice(page: VaultData, sets: readonly KeyId[]): Promise<AnsweredDevice> {
  const { vault, publisher, now } = page;
  const provider = { keyServer: vault, publisher };
  const keys = { xwing: await createXwingRecipient(await xwingPartsFor(page)), ed25519: await createEd25519Signer() };
  const request = await encodeBrowserBindingRequest(keys, publisher, now(), sets);
  const answer = await post('/-/device', request);
  const end = 4 + readU32(answer);
  const { id, key } = await acceptBrowserBinding(request, answer.subarray(4, end), keys, provider);
  const stored: StoredDevice = {
    id,
    mac: await importKey(await requestMacKey(key), { name: 'HMAC', hash: 'SHA-256' }, 'sign'),
    answer: await importKey(await keyAnswerKey(key), 'AES-GCM', 'decrypt'),
    wrapping: await importKey(await wrappingKey(key), 'AES-GCM', 'decrypt'),
  };
  await writeVault(STORED, stored);
  const device = handleOf(stored);
  return { device, answer: await openKeyAnswer(answer.subarray(end), request, device) };
}

function handleOf({ id, mac, answer, wrapping }: StoredDevice): DeviceKeyHandle {
  return {
    id,
    mac: (message) => macUnder(mac, message),
    openAnswer: (...sealed) => openUnder(answer, ...sealed),
    openWrapped: (...sealed) => openUnder(wrapping, ...sealed),
  };
}

function importKey(key: Uint8Array, algorithm: AlgorithmIdentifier | HmacImportParams, usage: KeyUsage) {
  return crypto.subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, algorithm, false, [usage]);
}
