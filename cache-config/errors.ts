import { CodedError, type CodedErrorOptions } from '../core/errors.ts';

export type CacheConfigErrorCode =
  | 'parameter-invalid'
  | 'server-missing'
  | 'server-not-started'
  | 'server-not-stopped'
  | 'state-directory-closed';

/** A configuration cannot be made, or a server not be started with it. */
export class CacheConfigError extends CodedError<CacheConfigErrorCode> {
  constructor(code: CacheConfigErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
