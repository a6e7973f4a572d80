import type { Argon2idCost } from '../../node-support/argon2id.ts';

/** Cost of a new password: RFC 9106, section 4, the second recommended choice, on one lane because Node gives each hash one thread. */
export const PASSWORD_COST: Argon2idCost = { memory: 65_536, passes: 3, parallelism: 1 };
