/** Providers as they are set up in practice, and what is said of those that are not usable. */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openidConfig } from '../../keyserver/config/subscribers.ts';
import { OpenIdProvider } from '../../keyserver/sign-in/openid-provider.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';

const BACK = 'https://read.news.example/-/openid/back';
const SECRET = 'a secret of the reading site';
const now = () => Math.floor(Date.now() / 1000);

/** Description of the provider, and its answers at the token endpoint. */
let described: Record<string, unknown>;
let token: (request: IncomingMessage, form: URLSearchParams) => [status: number, answer: object];
let issuer: string;
const server = createServer(async (request, response) => {
  if (request.url?.startsWith('/silent/')) return;
  const isDescription = request.url === '/school/.well-known/openid-configuration';
  const [status, answer] = isDescription
    ? [200, described]
    : request.url === '/token'
      ? token(request, new URLSearchParams(await text(request)))
      : [404, {}];
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});
beforeAll(async () => {
  issuer = `http://127.0.0.1:${await listenOnLoopback(server)}/school`;
});
afterAll(() => closeServer(server));
beforeEach(() => {
  described = descriptionOf(issuer);
  token = () => [400, { error: 'invalid_grant' }];
});

function descriptionOf(name: string): Record<string, unknown> {
  const [auth, token, jwks] = ['/auth', '/token', '/jwks'].map((path) => new URL(path, name).href);
  return { issuer: name, authorization_endpoint: auth, token_endpoint: token, jwks_uri: jwks };
}

const provider = (at = issuer, trustMail = false, signal?: AbortSignal) =>
  new OpenIdProvider({ issuer: at, clientId: 'reader', clientSecret: SECRET, trustMail, now, signal });

const unusable = (words: string) => ({ code: 'openid-unusable', message: expect.stringContaining(words) });

it('takes an issuer that differs by a slash, and no other one', async () => {
  described = descriptionOf(`${issuer}/`);
  await provider().check(BACK);
  expect((await provider().begin(BACK)).url.pathname).toBe('/auth');
  described = descriptionOf(`${issuer}/{tenantid}/v2.0`);
  const said = unusable('calls itself http');
  await expect(provider().check(BACK)).rejects.toMatchObject(said);
  await expect(provider().begin(BACK)).rejects.toMatchObject(said);
  const names = [`${issuer}/`, issuer, `${issuer}/`, `${issuer}/`];
  const turning = { get: () => names.shift(), enumerable: true };
  described = Object.defineProperty(descriptionOf(issuer), 'issuer', turning);
  await expect(provider().greet()).rejects.toMatchObject(said);
});

it('signs a person in where the provider says no more of an address than came with the code, as not verified', async () => {
  described.userinfo_endpoint = new URL('/gone', issuer).href;
  const person = async (claims: object) => {
    const own = provider();
    const { url, secret } = await own.begin(BACK);
    const { nonce, state } = Object.fromEntries(url.searchParams);
    const all = { iss: issuer, aud: 'reader', sub: 'emma', nonce, iat: now(), exp: now() + 60, ...claims };
    const identity = [{ alg: 'RS256' }, all].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    token = () => [200, { access_token: 'a', token_type: 'bearer', id_token: `${identity.join('.')}.AAAA` }];
    return own.person(secret, new URL(`${BACK}?code=c&state=${state}`));
  };
  expect(await person({ email: 'emma@example.org' })).toMatchObject({ subject: 'emma', mail: undefined });
  await expect(person({})).rejects.toMatchObject({ code: 'openid-refused' });
  // A sign-in without answer is refused: the person would be another one, for good.
  described.userinfo_endpoint = 'http://127.0.0.1:1/';
  await expect(person({ email: 'emma@example.org' })).rejects.toMatchObject({ code: 'openid-unreachable' });
});

it('says its secret in the body where the provider takes it there only, by its description or by what it refuses', async () => {
  token = ({ headers }, form) =>
    form.get('client_secret') === SECRET && headers.authorization === undefined
      ? [400, { error: 'invalid_grant' }]
      : [401, { error: 'invalid_client' }];
  await provider().check(BACK);
  described.token_endpoint_auth_methods_supported = ['client_secret_post'];
  await provider().check(BACK);
  described.token_endpoint_auth_methods_supported = ['private_key_jwt'];
  await expect(provider().greet()).rejects.toMatchObject(unusable('by private_key_jwt'));
});

it('says what the provider says of a wrong secret, without what may be a code, and where it is not', async () => {
  const description = `BAD7000215: wrong \u202e ${'x'.repeat(24)} a@b.example`;
  token = () => [401, { error: 'invalid_client', error_description: description }];
  const said = unusable('invalid_client BAD7000215: wrong \\u{202e} … …');
  await expect(provider().check(BACK)).rejects.toMatchObject(said);
  await expect(provider(`${issuer}/gone`).check(BACK)).rejects.toMatchObject(unusable('404'));
  await expect(provider('http://127.0.0.1:9/').check(BACK)).rejects.toMatchObject({ code: 'openid-unreachable' });
});

it('waits for no silent provider when the key server ends', async () => {
  const ending = new AbortController();
  const waiting = provider(new URL('/silent/x', issuer).href, false, ending.signal).greet();
  ending.abort();
  await expect(waiting).rejects.toMatchObject({ message: expect.stringMatching(/abort/i) });
});

it('trusts the mail addresses of one tenant, never of all (attack 118)', async () => {
  const entra = 'https://login.microsoftonline.com';
  const fetched = vi.spyOn(globalThis, 'fetch');
  const describe = (name: string) =>
    fetched.mockImplementation(async (url) =>
      String(url).endsWith('openid-configuration')
        ? Response.json(descriptionOf(name))
        : Response.json({ error: 'invalid_grant' }, { status: 400 }),
    );
  describe(`${entra}/{tenantid}/v2.0`);
  await expect(provider(`${entra}/common/v2.0`, true).check(BACK)).rejects.toMatchObject(unusable('one tenant'));
  await provider(`${entra}/common/v2.0`).begin(BACK);
  describe(`${entra}/1-2-3/v2.0`);
  await provider(`${entra}/1-2-3/v2.0`, true).begin(BACK);
  fetched.mockRestore();
  const refused = { issuer: `${entra}/{tenantid}/v2.0`, clientId: 'a', clientSecretFile: 'b', title: 'c' };
  expect(openidConfig.safeParse(refused).error?.issues[0]?.message).toContain('the id of your tenant');
});
