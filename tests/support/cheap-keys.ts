import type { Argon2idCost } from '../../node-support/argon2id.ts';

/** The least that is accepted for a password hash: tests open key files very often. */
export const CHEAP: Argon2idCost = { memory: 8192, parallelism: 1, passes: 1 };
