/** What the configuration says of Stripe, with the secret that is in a file of its own. */
import { readFileSync, statSync } from 'node:fs';
import { describeUnreadable } from '../node-support/system-error.ts';
import type { StripeConfig } from './api/subscriptions.ts';
import type { KeyServerConfig } from './config.ts';
import { KeyServerError } from './errors.ts';

/** @throws KeyServerError `configuration-invalid` where the file cannot be read, is empty, or may be read by others */
export function readStripe({ stripe }: KeyServerConfig): StripeConfig | undefined {
  if (stripe === undefined) return undefined;
  const { secretFile, plans } = stripe;
  try {
    const secret = readFileSync(secretFile, 'utf8').trim();
    if (secret === '') throw new Error(`${secretFile} is empty`);
    if ((statSync(secretFile).mode & 0o077) !== 0)
      throw new Error(`other users of this machine may read ${secretFile}`);
    return { secret, plans };
  } catch (cause) {
    throw new KeyServerError('configuration-invalid', describeUnreadable(secretFile, cause), { cause });
  }
}
