/** `--httpcrypt-to`: hosts that plain HTTP goes to over HTTPCrypt alone. */
import { type HttpcryptEndpoint, parseEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { ReaderError } from '../errors.ts';

/** @throws ReaderError `argument-invalid` */
export function parseHttpcryptTo(text: string): HttpcryptEndpoint {
  const endpoint = parseEndpoint(text);
  if (endpoint !== undefined) return endpoint;
  throw new ReaderError('argument-invalid', `not of the form http://HOST/PATH/#KEY: ${text}`, { typed: true });
}
