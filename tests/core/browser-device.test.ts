/** The keys of a browser's device, against the implementations that the key server and other browsers have. */
import { describe, expect, it } from 'vitest';
import { checkXwingPublicKey } from '../../core/keys/device.ts';
import { nativeXwingParts } from '../../core/primitives/ml-kem.ts';
import { nobleXwingParts } from '../../core/primitives/noble-ml-kem.ts';
import * as node from '../../core/primitives/node.ts';
import * as webcrypto from '../../core/primitives/webcrypto.ts';
import { createEd25519Signer, createXwingRecipient } from '../../core/primitives/webcrypto-xwing.ts';

/** Node.js has them as well. */
const native = nativeXwingParts();
if (native === undefined) throw new Error('the platform has no ML-KEM, or no SHA-3');

describe.each([
  ['native ML-KEM', native],
  ["noble's ML-KEM", nobleXwingParts],
])('the X-Wing key pair of a browser with %s', (_, parts) => {
  it.each([
    ['libsodium', node],
    ['noble', webcrypto],
  ])('decapsulates what %s encapsulates', async (_, { xwingEncapsulate }) => {
    for (let count = 0; count < 5; count++) {
      const { publicKey, decapsulate } = await createXwingRecipient(parts);
      checkXwingPublicKey(publicKey);
      const { ciphertext, sharedSecret } = xwingEncapsulate(publicKey);
      expect(Buffer.from((await decapsulate(ciphertext)) ?? '').equals(sharedSecret)).toBe(true);
    }
  });

  it('gives another secret for an altered ciphertext, and none where X25519 is of small order', async () => {
    const { publicKey, decapsulate } = await createXwingRecipient(parts);
    const { ciphertext, sharedSecret } = node.xwingEncapsulate(publicKey);
    for (const position of [0, 1087, 1088, 1100]) {
      const altered = Uint8Array.from(ciphertext, (byte, index) => byte ^ (index === position ? 1 : 0));
      const secret = await decapsulate(altered);
      expect([secret?.length, Buffer.from(secret ?? '').equals(sharedSecret)]).toEqual([32, false]);
    }
    expect(await decapsulate(Uint8Array.from(ciphertext).fill(0, 1088))).toBeUndefined();
  });
});

it('the Ed25519 key pair of a browser signs what the key server accepts', async () => {
  const { publicKey, sign } = await createEd25519Signer();
  const message = node.randomBytes(100);
  const signature = await sign(message);
  expect(await node.ed25519Verify(signature, message, publicKey)).toBe(true);
  expect(await node.ed25519Verify(signature, message.subarray(1), publicKey)).toBe(false);
});
