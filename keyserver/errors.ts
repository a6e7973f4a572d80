import { CodedError, type CodedErrorOptions } from '../core/errors.ts';

/** What can go wrong at the key server, for its operator or for whoever asks it. */
export type KeyServerErrorCode =
  | 'config-missing'
  | 'config-invalid'
  | 'config-unwritable'
  | 'origin-missing'
  | 'plain-http-refused'
  | 'certificate-missing'
  | 'certificate-mismatch'
  | 'certificate-expired'
  | 'port-in-use'
  | 'listen-failed'
  | 'master-key-missing'
  | 'master-key-malformed'
  | 'master-key-exposed'
  | 'master-key-wrong'
  | 'database-missing'
  | 'database-damaged'
  | 'database-foreign'
  | 'database-newer'
  | 'database-unavailable'
  | 'row-unreadable'
  | 'bundle-missing'
  | 'bundle-foreign'
  | 'bundle-older'
  | 'bundle-conflict'
  | 'bundle-elsewhere'
  | 'publisher-key-changed'
  | 'no-provider'
  | 'subscriber-name'
  | 'subscriber-unknown'
  | 'set-pattern'
  | 'validity'
  | 'publisher-unknown'
  | 'code-refused'
  | 'stale-request'
  | 'request-refused'
  | 'password-parameters'
  | 'busy'
  | 'not-signed-in'
  | 'not-entitled'
  | 'lapsed'
  | 'revoked'
  | 'foreign-request'
  | 'too-many-requests'
  | 'token-name'
  | 'token-unknown'
  | 'token-refused'
  | 'timestamp-key-foreign'
  | 'clock-back'
  | 'publication-not-there'
  | 'root-behind';

/** The key server refuses: its message is for the operator; over the network only the code is told. */
export class KeyServerError extends CodedError<KeyServerErrorCode> {
  constructor(code: KeyServerErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
