/** Checks what must be right before the key server makes or changes anything. */
import type { StripeConfig } from '../api/options.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { readSecretFile } from '../config/secret-file.ts';
import { KeyServerError, misconfigured } from '../errors.ts';
import { checkAdminListener, checkHttpcryptListener, checkListener } from '../http/listen.ts';
import { checkMailer } from '../mail/mailer.ts';
import { paywallSettings } from '../subscriptions/paywall.ts';

/**
 * Checks listeners, certificates and files of secrets, and puts all that is wrong in one error.
 *
 * @throws KeyServerError `configuration-invalid`, `certificate-…`
 */
export function checkBeforeStart(config: KeyServerConfig): void {
  const { reading, openid, mail } = config;
  const problems = [
    () => checkListener(config, config),
    () => checkListener(reading, config),
    () => checkListener(reading.documents, config),
    () => checkHttpcryptListener(config),
    () => checkAdminListener(config.admin, config),
    () => readStripe(config),
    () => paywallSettings(config),
    () => openid && readSecretFile(openid.clientSecretFile),
    () => mail && checkMailer(mail),
  ].flatMap(problemOf);
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  throw misconfigured([...new Set(problems.map(({ message }) => message))].join('\n'));
}

function problemOf(check: () => unknown): KeyServerError[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof KeyServerError) return [error];
    throw error;
  }
}

/** Settings of Stripe, with the secret that is in a file of its own. @throws KeyServerError `configuration-invalid` */
export function readStripe({ stripe }: KeyServerConfig): StripeConfig | undefined {
  return stripe && { secret: readSecretFile(stripe.secretFile), plans: stripe.plans };
}
