import { CodedError } from '../errors.ts';

/** The checks of docs/spec/protected-object.md, "Verification", that can fail. */
export type ObjectErrorCode =
  | 'object-unrecognised'
  | 'object-version'
  | 'head-length'
  | 'object-truncated'
  | 'header-not-canonical'
  | 'header-invalid'
  | 'publisher-unexpected'
  | 'signature-invalid'
  | 'digest-list'
  | 'site-mismatch'
  | 'path-mismatch'
  | 'key-missing'
  | 'key-not-valid-now'
  | 'key-id-mismatch'
  | 'commitment'
  | 'block-digest'
  | 'chunk-tag'
  | 'metadata-invalid'
  | 'object-trailing'
  | 'carrier-malformed';

/** A protected object failed a check; nothing of the part that failed was released. */
export class ObjectError extends CodedError<ObjectErrorCode> {
  constructor(code: ObjectErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
