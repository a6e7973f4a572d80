import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../core/errors.ts';

export const CACHE_CONFIG_ERRORS = {
  'parameter-invalid': {
    means: 'a value that a configuration must not contain',
    remedy: 'the message names it',
  },
  'server-missing': {
    means: 'nginx, Varnish or Squid is not installed',
    remedy: 'install it, for example: `sudo apt-get install {package}`',
  },
  'server-not-started': {
    means: 'it did not start; the message ends with its log',
    remedy: 'see the log',
  },
  'server-not-stopped': {
    means: 'it did not end, not even by force',
    remedy: 'look at the process',
  },
  'state-directory-closed': {
    means: 'started by root, it becomes a user that cannot enter its directory',
    remedy: 'use another directory, or run `chmod o+x {directory}`',
  },
} as const satisfies ErrorCatalogue;

export type CacheConfigErrorCode = keyof typeof CACHE_CONFIG_ERRORS;

/** A configuration cannot be made, or a server not be started with it. */
export class CacheConfigError extends CodedError<CacheConfigErrorCode> {
  constructor(code: CacheConfigErrorCode, message: string, options?: CodedErrorOptions) {
    super(CACHE_CONFIG_ERRORS, code, message, options);
  }
}
