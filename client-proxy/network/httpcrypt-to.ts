/** `--httpcrypt-to`: hosts that plain HTTP goes to over HTTPCrypt alone. */
import { formatEndpoint, type HttpcryptEndpoint, parseEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { ReaderError } from '../errors.ts';

/** @param others - endpoints that are chosen already: a host has one @throws ReaderError `argument-invalid` */
export function parseHttpcryptTo(text: string, others: readonly HttpcryptEndpoint[] = []): HttpcryptEndpoint {
  const refused = (why: string) => new ReaderError('argument-invalid', why, { typed: true });
  const endpoint = parseEndpoint(text);
  if (endpoint === undefined) throw refused(`not of the form http://HOST/PATH/#KEY: ${text}`);
  const other = otherOf(endpoint, others);
  if (other) throw refused(`two endpoints of one host: ${formatEndpoint(other)} and ${text}`);
  return endpoint;
}

/** Finds an endpoint of the same host. */
export function otherOf(
  { url }: HttpcryptEndpoint,
  others: readonly HttpcryptEndpoint[],
): HttpcryptEndpoint | undefined {
  return others.find((other) => new URL(other.url).origin === new URL(url).origin);
}
