/** Another device key for a device that was bound before: docs/spec/keys.md, "Renewal". */
import { acceptBinding, encodeRenewalRequest } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { ReaderStore } from '../store/store.ts';
import type { StoredBinding } from '../store/types.ts';
import { type KeyServerChannel, sendRenewalRequest } from './key-server.ts';

/**
 * Gets another device key, and keeps it in place of the one that the key server does not take any more.
 *
 * @throws as `sendRenewalRequest`; KeyError `binding-malformed`; of the store
 */
export async function renewDeviceKey(
  { descriptor }: StoredBinding,
  store: ReaderStore,
  channel: KeyServerChannel,
): Promise<NamedKey> {
  const provider = { keyServer: descriptor.keyServer, publisher: descriptor.publisher };
  const device = await deriveDeviceKeys(await store.deviceSeed(), provider);
  const request = encodeRenewalRequest(device, provider.publisher, nowInSeconds());
  const deviceKey = await acceptBinding(request, await sendRenewalRequest(channel, request), device, provider);
  await store.saveDeviceKey(provider, deviceKey);
  return deviceKey;
}
