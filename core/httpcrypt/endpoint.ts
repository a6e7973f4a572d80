/** Endpoints of HTTPCrypt: docs/spec/httpcrypt.md, "Endpoint". */
import { fromBase64url } from '../encoding/base64url.ts';
import { hasMembers, isJsonObject, type Json } from '../encoding/canonical-json.ts';
import { isOrigin } from '../site/site.ts';

const MAXIMUM_URL = 200;

export interface HttpcryptEndpoint {
  /** base64url of the channel key, an Ed25519 public key. */
  readonly key: string;
  readonly url: string;
}

export function isHttpcryptEndpoint(value: Json | undefined): boolean {
  if (!isJsonObject(value) || !hasMembers(value, ['key', 'url'])) return false;
  return fromBase64url(value.key, 32) !== undefined && isHttpcryptUrl(value.url);
}

/** The endpoint of a text `url#key`; `undefined` if it is none. */
export function parseEndpoint(text: string): HttpcryptEndpoint | undefined {
  const [url = '', key = '', ...rest] = text.split('#');
  return rest.length === 0 && isHttpcryptEndpoint({ key, url }) ? { key, url } : undefined;
}

/** The text of an endpoint. */
export function formatEndpoint({ url, key }: HttpcryptEndpoint): string {
  return `${url}#${key}`;
}

/** Tells whether `text` is the address of such an endpoint: an origin of plain HTTP, and a path that ends in a slash. */
export function isHttpcryptUrl(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > MAXIMUM_URL) return false;
  const [, origin] = /^(http:\/\/[^/]+)\/(?:[\w-]+\/)*$/.exec(text) ?? [];
  return isOrigin(origin, { allowHttp: true });
}
