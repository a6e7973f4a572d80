/** This browser as a device: docs/spec/web-reader.md, "Devices of browsers". */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { acceptBrowserBinding, encodeBrowserBindingRequest } from '../../core/keys/binding.ts';
import {
  type DeviceKeyHandle,
  keyAnswerKey,
  type Open,
  requestMacKey,
  wrappingKey,
} from '../../core/keys/device-key.ts';
import { createEd25519Signer, createXwingRecipient } from '../../core/primitives/webcrypto-xwing.ts';
import { readVault, writeVault } from './database.ts';
import { mlKemFor } from './ml-kem.ts';
import { post, type VaultData } from './page.ts';

const STORED = 'device';

/** As it is stored: no key can be extracted. */
interface StoredDevice {
  readonly id: KeyId;
  readonly mac: CryptoKey;
  readonly answer: CryptoKey;
  readonly wrapping: CryptoKey;
}

const { subtle } = globalThis.crypto;
type Unshared = Uint8Array<ArrayBuffer>;

/** The device that this browser is already. */
export async function findDevice(): Promise<DeviceKeyHandle | undefined> {
  const stored = (await readVault(STORED)) as StoredDevice | undefined;
  return stored && handleOf(stored);
}

/**
 * Makes this browser a device of the subscriber who is signed in. One that it was before is forgotten.
 *
 * @throws KeyError `binding-malformed`; KeyServerRefusal
 */
export async function becomeDevice(page: VaultData): Promise<DeviceKeyHandle> {
  const { vault, publisher, now } = page;
  const provider = { keyServer: vault, publisher };
  const keys = { xwing: await createXwingRecipient(await mlKemFor(page)), ed25519: await createEd25519Signer() };
  const request = await encodeBrowserBindingRequest(keys, publisher, now());
  const { id, key } = await acceptBrowserBinding(request, await post('/-/device', request), keys, provider);
  const device: StoredDevice = {
    id,
    mac: await importKey(await requestMacKey(key), { name: 'HMAC', hash: 'SHA-256' }, 'sign'),
    answer: await importKey(await keyAnswerKey(key), 'AES-GCM', 'decrypt'),
    wrapping: await importKey(await wrappingKey(key), 'AES-GCM', 'decrypt'),
  };
  await writeVault(STORED, device);
  return handleOf(device);
}

function handleOf({ id, mac, answer, wrapping }: StoredDevice): DeviceKeyHandle {
  return {
    id,
    mac: async (message) => new Uint8Array(await subtle.sign('HMAC', mac, message as Unshared)),
    openAnswer: openUnder(answer),
    openWrapped: openUnder(wrapping),
  };
}

function openUnder(key: CryptoKey): Open {
  return async (nonce, ciphertext, additionalData) => {
    const parameters = { name: 'AES-GCM', iv: nonce as Unshared, additionalData: additionalData as Unshared };
    try {
      return new Uint8Array(await subtle.decrypt(parameters, key, ciphertext as Unshared));
    } catch {
      return undefined;
    }
  };
}

function importKey(key: Uint8Array, algorithm: AlgorithmIdentifier | HmacImportParams, usage: KeyUsage) {
  return subtle.importKey('raw', key as Unshared, algorithm, false, [usage]);
}
