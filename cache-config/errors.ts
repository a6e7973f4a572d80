import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../core/errors.ts';

export const CACHE_CONFIG_ERRORS = {
  'argument-invalid': {
    means: 'a value that a configuration must not contain',
    remedy: 'the message names it',
  },
  'service-failed': {
    means: 'a web server or cache is not installed, or did not start or end',
    remedy: 'see the message; install it, for example `sudo apt-get install {package}`, or use another directory',
  },
} as const satisfies ErrorCatalogue;

export type CacheConfigErrorCode = keyof typeof CACHE_CONFIG_ERRORS;

/** A configuration cannot be made, or a server not be started with it. */
export class CacheConfigError extends CodedError<CacheConfigErrorCode> {
  constructor(code: CacheConfigErrorCode, message: string, options?: CodedErrorOptions) {
    super(CACHE_CONFIG_ERRORS, code, message, options);
  }
}
