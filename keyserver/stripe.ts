/** What the configuration says of Stripe, with the secret that is in a file of its own. */
import type { StripeConfig } from './api/subscriptions.ts';
import type { KeyServerConfig } from './config.ts';
import { readSecretFile } from './secret-file.ts';

/** @throws KeyServerError `configuration-invalid` where the file cannot be read, is empty, or may be read by others */
export function readStripe({ stripe }: KeyServerConfig): StripeConfig | undefined {
  return stripe && { secret: readSecretFile(stripe.secretFile), plans: stripe.plans };
}
