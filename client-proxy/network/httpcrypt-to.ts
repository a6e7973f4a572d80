/** `--httpcrypt-to`: hosts that plain HTTP goes to over HTTPCrypt alone. */
import { formatEndpoint, type HttpcryptEndpoint, parseEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { ReaderError } from '../errors.ts';

/** @param others - endpoints that are chosen already: a host has one @throws ReaderError `argument-invalid` */
export function parseHttpcryptTo(text: string, others: readonly HttpcryptEndpoint[] = []): HttpcryptEndpoint {
  const refused = (why: string) => new ReaderError('argument-invalid', why, { typed: true });
  const endpoint = parseEndpoint(text);
  if (endpoint === undefined) throw refused(`not of the form http://HOST/PATH/#KEY: ${text}`);
  const other = others.find(({ url }) => new URL(url).origin === new URL(endpoint.url).origin);
  if (other) throw refused(`two endpoints of one host: ${formatEndpoint(other)} and ${text}`);
  return endpoint;
}
