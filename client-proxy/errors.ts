import { CodedError, type CodedErrorOptions } from '../core/errors.ts';

/** What can go wrong on the reader's machine, besides the checks of `core/`. docs/errors.md documents each. */
export type ReaderErrorCode =
  // the store
  | 'store-damaged'
  | 'store-newer'
  | 'store-exposed'
  | 'store-unusable'
  | 'store-unwritable'
  | 'store-busy'
  | 'disk-full'
  | 'storage-key-missing'
  | 'storage-key-exposed'
  | 'storage-key-wrong'
  | 'keyring-unavailable'
  | 'passphrase-needed'
  | 'passphrase-wrong'
  | 'passphrase-unexpected'
  | 'unlock-too-often'
  | 'reader-locked'
  | 'words-mistyped'
  | 'roaming-older'
  | 'roaming-unavailable'
  | 'roaming-exists'
  | 'roaming-unwritable'
  | 'not-connected'
  | 'no-identity'
  | 'passphrase-too-short'
  // connecting to a publisher
  | 'link-malformed'
  | 'code-needed'
  | 'code-alone'
  | 'code-refused'
  | 'clock-off'
  | 'descriptor-foreign'
  | 'descriptor-older'
  | 'site-taken'
  | 'host-proof-unreachable'
  | 'not-confirmed'
  // keys
  | 'key-server-unreachable'
  | 'key-server-certificate'
  | 'key-server-answer'
  | 'not-entitled'
  | 'subscription-lapsed'
  | 'device-revoked'
  // requests
  | 'site-withdrawn'
  | 'bad-request'
  | 'coding-refused'
  | 'version-refused'
  | 'method-refused'
  | 'scheme-refused'
  | 'cross-site'
  | 'worker-refused'
  | 'other-user'
  | 'host-unknown'
  | 'port-refused'
  | 'site-port'
  | 'tunnel-refused'
  | 'local-refused'
  | 'loop'
  | 'host-unreachable'
  | 'host-answer'
  | 'reader-busy'
  // forms of the Reader's own pages
  | 'form-foreign'
  | 'form-malformed'
  | 'form-outdated'
  | 'page-unknown'
  // keeping
  | 'site-unknown'
  | 'cache-too-small'
  | 'cache-unusable'
  // for programs
  | 'address-malformed'
  | 'range-refused'
  | 'condition-unmet'
  | 'redirect-refused'
  // the service
  | 'service-manager-missing'
  | 'service-failed'
  | 'unit-foreign'
  | 'unit-unwritable'
  | 'reader-running'
  | 'reader-unreachable'
  // starting
  | 'connect-to-malformed'
  | 'allow-local-malformed'
  | 'parent-proxy-malformed'
  | 'parent-proxy-unreachable'
  | 'parent-proxy-answer'
  | 'parent-proxy-auth'
  | 'port-taken'
  | 'port-unusable'
  | 'already-running'
  | 'owner-unknown'
  | 'internal';

/** The reader's side could not do what it was asked; nothing was released, and nothing half changed. */
export class ReaderError extends CodedError<ReaderErrorCode> {
  constructor(code: ReaderErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
