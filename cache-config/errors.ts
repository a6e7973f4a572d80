import { type ErrorCatalogue, errorClass } from '../core/errors.ts';

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

/** A configuration cannot be made, or a server not be started with it. */
export class CacheConfigError extends errorClass(CACHE_CONFIG_ERRORS) {}
