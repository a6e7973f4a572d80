/**
 * Vitest's set-up of every test file: what a passphrase protects anew in this process, and new passwords of a key server, take the least work that is
 * accepted, so that they are answered at once.
 * Programs that are started, and files of a test that names a cost, have the real one.
 */
import { vi } from 'vitest';
import type * as argon2id from '../../node-support/argon2id.ts';
import { CHEAP } from './cheap-keys.ts';

vi.mock('../../node-support/argon2id.ts', async (original) => {
  const real = await original<typeof argon2id>();
  const newParameters: typeof real.newParameters = (salt, cost = CHEAP) => real.newParameters(salt, cost);
  return { ...real, newParameters };
});

vi.mock('../../keyserver/sign-in/password-cost.ts', () => ({ PASSWORD_COST: CHEAP }));
