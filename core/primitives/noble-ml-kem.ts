/** ML-KEM-768 of noble, for browsers that have none of their own. */
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import type { CreateMlKemRecipient } from './ml-kem.ts';
import { randomBytes } from './random.ts';

export const createNobleMlKem: CreateMlKemRecipient = async () => {
  const { publicKey, secretKey } = ml_kem768.keygen(randomBytes(64));
  return { publicKey, decapsulate: async (ciphertext) => ml_kem768.decapsulate(ciphertext, secretKey) };
};
