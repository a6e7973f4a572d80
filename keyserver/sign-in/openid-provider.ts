/**
 * Signing in at an OpenID provider (https://openid.net/specs/openid-connect-core-1_0.html): the code flow with PKCE (RFC 7636), state and nonce.
 * All three are derived from a secret that only the browser has, in a cookie. So nothing is stored meanwhile, and any process can go on.
 */
import * as client from 'openid-client';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { readAtMost } from '../../core/encoding/byte-reader.ts';
import { isLoopback } from '../../core/site/site.ts';
import { printable } from '../../node-support/printable.ts';
import { KeyServerError } from '../errors.ts';
import { digest } from '../storage/digest.ts';
import { answerError, discoveryError, refusesClient, statusOf, toldIssuer, unusable } from './openid-errors.ts';

const SECRET_LENGTH = 32;
/** Seconds for which a request to the provider may last. */
const TIMEOUT = 5;
/** Seconds after which the provider's description is fetched again. */
const DESCRIPTION_LIFETIME = 3600;
/** Bytes of an answer of the provider. */
const MAXIMUM_ANSWER_LENGTH = 262_144;
const SCOPE = 'openid email profile';

export interface OpenIdOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Mail addresses count as verified where the provider does not say whether they are. */
  readonly trustMail: boolean;
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
}

/** A person who signed in, as the provider says. */
export interface OpenIdPerson {
  readonly issuer: string;
  /** Names the person at the issuer, for ever. */
  readonly subject: string;
  /** The mail address, if the provider has verified that it is this person's. */
  readonly mail: string | undefined;
  /** Name by which the person wants to be called. Anyone may choose any. */
  readonly nickname: string | undefined;
}

/** The provider that `keyserver.json` names. What it says of itself is fetched when it is needed. */
export class OpenIdProvider {
  readonly #options: OpenIdOptions;
  /** The secret goes in the body, where the provider takes it by HTTP Basic from other clients only. */
  #posts = false;
  #known: { readonly configuration: Promise<client.Configuration>; readonly since: number } | undefined;

  constructor(options: OpenIdOptions) {
    this.#options = options;
  }

  /** Asks the provider for its description, and whether it is the one that the configuration names. @throws KeyServerError `openid-unreachable`, `openid-unusable` */
  async greet(): Promise<void> {
    await this.#configuration();
  }

  /**
   * Tries the provider, with a code that is none: it may note that as a failure.
   *
   * @param back - as for {@link begin}
   * @throws KeyServerError `openid-unreachable`, `openid-unusable`, with what the provider says
   */
  async check(back: string): Promise<void> {
    const configuration = await this.#configuration();
    const parameters = { code: 'none', redirect_uri: back, code_verifier: flowOf('').verifier };
    try {
      await this.#asClient(() => client.genericGrantRequest(configuration, 'authorization_code', parameters));
    } catch (error) {
      // A refusal of the code says that the secret was taken.
      if (refusesClient(error) || !(error instanceof client.ResponseBodyError)) throw answerError(error);
    }
  }

  /**
   * Makes the address at which a browser signs in, and the secret that it has to bring back.
   *
   * @param back - the address that the provider leads back to
   * @throws KeyServerError `openid-unreachable`, `openid-unusable`
   */
  async begin(back: string): Promise<{ readonly url: URL; readonly secret: string }> {
    const secret = toBase64url(randomBytes(SECRET_LENGTH));
    const { state, nonce, verifier } = flowOf(secret);
    const url = client.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: back,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, secret };
  }

  /** Tells whether an address that the provider leads back to belongs to the flow of a secret. */
  isFlowOf(secret: string, current: URL): boolean {
    return flowOf(secret).state === current.searchParams.get('state');
  }

  /**
   * Finds the person who came back.
   *
   * @param secret - of the browser; empty if it has none
   * @param current - the address that was asked for, with the code
   * @throws KeyServerError `openid-cancelled`, `openid-clock-off`, `openid-refused`, `openid-unreachable`, `openid-unusable`
   */
  async person(secret: string, current: URL): Promise<OpenIdPerson> {
    if (!fromBase64url(secret, SECRET_LENGTH)) throw new KeyServerError('openid-refused', 'the browser has no cookie');
    const { state, nonce, verifier } = flowOf(secret);
    const configuration = await this.#configuration();
    try {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await this.#asClient(() => client.authorizationCodeGrant(configuration, current, checks));
      const claims = tokens.claims();
      if (!claims) throw new Error('no identity came with the code');
      const { trustMail } = this.#options;
      const isTold = claims.email !== undefined && (trustMail || claims.email_verified !== undefined);
      const more = !isTold && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const told =
        more &&
        (await client.fetchUserInfo(configuration, tokens.access_token, claims.sub).catch((error: unknown) => {
          // Takes an address that came with the code as not verified, unless the provider is out of order: then that is not known yet.
          const status = statusOf(error) ?? 500;
          if (claims.email === undefined || status >= 500) throw error;
        }));
      const all: Record<string, unknown> = { ...claims, ...told };
      const { email, email_verified: isVerified = trustMail, preferred_username: nickname } = all;
      return {
        issuer: claims.iss,
        subject: claims.sub,
        // Providers may say it as text.
        mail: String(isVerified) === 'true' && typeof email === 'string' ? email : undefined,
        nickname: typeof nickname === 'string' ? nickname : undefined,
      };
    } catch (error) {
      throw answerError(error);
    }
  }

  #configuration(): Promise<client.Configuration> {
    const { now } = this.#options;
    if (!this.#known || this.#known.since + DESCRIPTION_LIFETIME < now() || this.#known.since > now()) {
      const configuration = this.#discover();
      this.#known = { configuration, since: now() };
      configuration.catch(() => {
        if (this.#known?.configuration === configuration) this.#known = undefined;
      });
    }
    return this.#known.configuration;
  }

  /** Says the secret in the other way, where the provider does not take the client by the first one. */
  async #asClient<Result>(work: () => Promise<Result>): Promise<Result> {
    const posted = this.#posts;
    try {
      return await work();
    } catch (error) {
      if (posted || !refusesClient(error)) throw error;
      this.#posts = true;
    }
    return work().catch((error) => {
      if (refusesClient(error)) this.#posts = false;
      throw error;
    });
  }

  async #discover(issuer: string = this.#options.issuer): Promise<client.Configuration> {
    const { clientId, clientSecret, trustMail, now, signal } = this.#options;
    const url = new URL(issuer);
    // HTTP without TLS is for this machine; the configuration permits no other.
    const isPlain = url.protocol === 'http:' && isLoopback(url.hostname);
    const metadata = { [client.clockSkew]: now() - Math.floor(Date.now() / 1000) };
    const options = {
      timeout: TIMEOUT,
      [client.customFetch]: boundedFetch(signal),
      ...(isPlain && { execute: [client.allowInsecureRequests] }),
    };
    const [basic, post] = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)];
    const authenticate: client.ClientAuth = (server, ...more) => {
      const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (this.#posts || !ways.includes('client_secret_basic') ? post : basic)(server, ...more);
    };
    try {
      const configuration = await client.discovery(url, clientId, metadata, authenticate, options);
      const { token_endpoint_auth_methods_supported: ways = ['client_secret_basic'] } = configuration.serverMetadata();
      if (!ways.some((way) => ['client_secret_basic', 'client_secret_post'].includes(way)))
        throw unusable(`the OpenID provider takes no client by a secret, but by ${printable(ways.join(', '))}`);
      if (trustMail && configuration.serverMetadata().issuer.includes('{tenantid}'))
        throw unusable(
          '"openid.trustMail" is for one tenant, and "openid.issuer" is for all: name the id of yours in it',
        );
      return configuration;
    } catch (error) {
      if (error instanceof KeyServerError) throw error;
      const told = toldIssuer(error);
      const isFirst = issuer === this.#options.issuer;
      if (isFirst && (told === `${issuer}/` || issuer === `${told}/`)) return this.#discover(told);
      throw discoveryError(issuer, error);
    }
  }
}

/** Derives the parts of a flow: none leads to the secret, or to another. */
function flowOf(secret: string): { state: string; nonce: string; verifier: string } {
  const part = (label: string) => toBase64url(digest(`openid ${label}`, secret));
  return { state: part('state'), nonce: part('nonce'), verifier: part('code verifier') };
}

/** Bounds the memory that an answer takes. @param ending - breaks requests off */
const boundedFetch =
  (ending: AbortSignal | undefined): client.CustomFetch =>
  async (url, options) => {
    const signal = AbortSignal.any([options.signal, ending].filter((one) => one !== undefined));
    const response = await fetch(url, { ...options, signal } as RequestInit);
    if (response.body === null) return response;
    const bytes = await readAtMost(response.body, MAXIMUM_ANSWER_LENGTH);
    if (bytes === undefined) throw new TypeError('the answer is too long');
    return new Response(Buffer.from(bytes), response);
  };
