/** ML-KEM-768 and SHA-3 of noble, for browsers that have none of their own. */
import { sha3_256 } from '@noble/hashes/sha3.js';
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import type { XwingParts } from './ml-kem.ts';
import { randomBytes } from './random.ts';

export const nobleXwingParts: XwingParts = {
  createMlKem: async () => {
    const { publicKey, secretKey } = ml_kem768.keygen(randomBytes(64));
    return { publicKey, decapsulate: async (ciphertext) => ml_kem768.decapsulate(ciphertext, secretKey) };
  },
  sha3: async (message) => sha3_256(message),
};
