/** Reads the configuration of OpenID Connect, with the secret that is in a file of its own. */
import type { KeyServerConfig } from '../config/config.ts';
import { readSecretFile } from '../config/secret-file.ts';
import type { OpenIdProvider } from './openid-provider.ts';

/** Path of the reading site to which the provider leads back. */
export const OPENID_BACK = '/-/openid/back';

/** A way to sign in. */
export interface OpenIdSignIn {
  readonly title: string;
  readonly plan: string | undefined;
  readonly provider: OpenIdProvider;
}

/**
 * Loads the library only if there is a provider.
 *
 * @param now - seconds since 1970
 * @param signal - ends requests that are under way
 * @throws KeyServerError `configuration-invalid`
 */
export async function openOpenId(
  { openid }: KeyServerConfig,
  now: () => number,
  signal?: AbortSignal,
): Promise<OpenIdSignIn | undefined> {
  if (openid === undefined) return undefined;
  const { issuer, clientId, clientSecretFile, title, plan, trustMail } = openid;
  const clientSecret = readSecretFile(clientSecretFile);
  const { OpenIdProvider } = await import('./openid-provider.ts');
  return { title, plan, provider: new OpenIdProvider({ issuer, clientId, clientSecret, trustMail, now, signal }) };
}
