/** A real OpenID provider on loopback. Each person who comes is signed in at once, as the person that the test has named. */
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { closeServer, listenOnLoopback } from './content-host.ts';

export const CLIENT = { id: 'reading-site', secret: 'a secret of the reading site' };

export interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean | string;
  readonly preferred_username?: string;
}

export interface OpenIdProviderRig {
  readonly issuer: string;
  /** Person who signs in from now on; `undefined`: anyone who comes cancels. */
  person: Person | undefined;
  readonly stop: () => Promise<void>;
}

/** @param back - the address that the client is registered with */
export async function startOpenIdProvider(back: () => string): Promise<OpenIdProviderRig> {
  let handle: ReturnType<Provider['callback']> | undefined;
  const server = createServer((request, response) => void handle?.(request, response));
  const issuer = `http://127.0.0.1:${await listenOnLoopback(server)}`;
  const people = new Map<string, Person>();
  const rig: OpenIdProviderRig = { issuer, person: undefined, stop: () => closeServer(server) };
  const start = () => {
    const provider = new Provider(issuer, {
      clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [back()] }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username'] },
      features: { devInteractions: { enabled: false } },
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      cookies: { keys: ['a key of the test'] },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ ...people.get(id), sub: id }) }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new provider.Grant({ clientId: CLIENT.id, accountId: oidc.session?.accountId ?? '' });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    const callback = provider.callback();
    return async (...[request, response]: Parameters<typeof callback>) => {
      if (!request.url?.startsWith('/interaction/')) return callback(request, response);
      if (rig.person) people.set(rig.person.sub, rig.person);
      const result = rig.person
        ? { login: { accountId: rig.person.sub } }
        : { error: 'access_denied', error_description: 'the person does not want to' };
      await provider.interactionFinished(request, response, result);
    };
  };
  // The key server's address is known later than the provider's, and the key server tries the provider at its start.
  handle = async (request, response) => {
    try {
      handle = start();
    } catch {
      response.statusCode = 503;
      response.end();
      return;
    }
    return handle(request, response);
  };
  return rig;
}
