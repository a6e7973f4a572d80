import { CodedError, type CodedErrorOptions } from '../errors.ts';

/** The checks of docs/spec/keys.md that can fail. */
export type KeyErrorCode =
  | 'wrapped-key-malformed'
  | 'wrapped-key-foreign'
  | 'wrapped-key-tag'
  | 'wrapped-key-not-valid-now'
  | 'wrapped-key-id-mismatch'
  | 'device-key-invalid'
  | 'binding-malformed'
  | 'binding-signature'
  | 'binding-confirmation'
  | 'request-malformed'
  | 'request-mac'
  | 'answer-unreadable'
  | 'descriptor-malformed'
  | 'descriptor-signature'
  | 'descriptor-expired'
  | 'host-proof'
  | 'bundle-malformed'
  | 'bundle-signature'
  | 'bundle-recipient'
  | 'bundle-unreadable'
  | 'roaming-malformed'
  | 'roaming-unreadable';

/** A key, or a message about keys, failed a check; nothing of it was used. */
export class KeyError extends CodedError<KeyErrorCode> {
  constructor(code: KeyErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
