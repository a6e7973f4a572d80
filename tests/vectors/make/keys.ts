import type { KeyVectorFile } from '../format.ts';
import { bindingVectors } from './keys-binding.ts';
import { bundleVectors } from './keys-bundle.ts';
import { descriptorVectors } from './keys-descriptor.ts';
import { envelopeVectors } from './keys-envelope.ts';
import { keyFileVectors } from './keys-file.ts';
import { keyRequestVectors } from './keys-request.ts';
import { roamingVectors } from './keys-roaming.ts';
import { wrappedKeyVectors } from './keys-wrapped.ts';

/** keys.json */
export async function makeKeyVectors(): Promise<KeyVectorFile> {
  const vectors = [
    ...(await wrappedKeyVectors()),
    ...(await envelopeVectors()),
    ...descriptorVectors(),
    ...(await bindingVectors()),
    ...(await keyRequestVectors()),
    ...(await bundleVectors()),
    ...(await roamingVectors()),
    ...(await keyFileVectors()),
  ];
  return { vectors };
}
