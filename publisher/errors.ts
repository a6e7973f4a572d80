import { CodedError, type CodedErrorOptions } from '../core/errors.ts';

/** What can go wrong at the publisher's. Unless a code says otherwise, nothing was changed. */
export type PublishErrorCode =
  /** There is no `wispr.json` where one was looked for. */
  | 'configuration-missing'
  /** `wispr.json` does not parse, or says something that it cannot say. */
  | 'configuration-invalid'
  /** `wispr init` found a configuration or keys, and overwrites nothing. */
  | 'workspace-exists'
  /** Secrets, or the output, would lie inside the site that is published, or the site inside the output. */
  | 'workspace-overlap'
  /** Another `wispr protect` is at work in this workspace. */
  | 'workspace-busy'
  /** The passphrase is too short to protect anything. */
  | 'passphrase-too-short'
  /** The passphrase does not open the key store. */
  | 'passphrase-wrong'
  /** There is no key store beside the configuration. */
  | 'key-store-missing'
  /** The key store was altered or cut. */
  | 'key-store-damaged'
  /** A key file is whole, and of another kind than the one that is needed. */
  | 'key-store-kind'
  /** The key store was made by a version that had no roots. */
  | 'key-store-outdated'
  /** The key store was put back from a copy of before a change of signing keys. */
  | 'key-store-older'
  /** The key store asks for more work or memory than any that wispr makes: refused uncomputed. */
  | 'key-store-parameters'
  /** `root.keys` is needed, and is not there. */
  | 'root-keys-missing'
  /** A file that should hold a signer's public key does not. */
  | 'signer-invalid'
  /** A role cannot have such keys or such a threshold. */
  | 'signers-refused'
  /** A section has to be signed, and too few of its keys are here. */
  | 'section-key-missing'
  /** A section has more documents than its signed list can hold. */
  | 'section-too-large'
  /** None of the keys that are here may sign this. */
  | 'signer-unknown'
  /** A root waits for signatures, and the next change has to wait for it. */
  | 'draft-open'
  /** The key has signed for another publisher. */
  | 'signer-bound'
  /** What should be a root or a publication that waits for signatures is none. */
  | 'draft-malformed'
  /** A root that waited for signatures was overtaken by another, or a publication by a change of the site. */
  | 'draft-stale'
  /** What waits for signatures goes behind what this signer has seen. */
  | 'draft-rolled-back'
  /** A publication that waits for signatures has a number or an expiry that no publisher's program gives it. */
  | 'draft-out-of-bounds'
  /** A root or a publication lacks signatures. What was gathered is kept. */
  | 'signatures-missing'
  /** There is no publication where one was looked for. */
  | 'publication-missing'
  /** A version was to be withdrawn that was never published. */
  | 'version-unknown'
  /** A version was to be withdrawn that is lower than all that a timestamp has room for. */
  | 'withdrawals-full'
  /** The key server's public key is not one. */
  | 'recipient-invalid'
  /** The source directory is missing or cannot be read. */
  | 'source-unreadable'
  /** Files whose names, links or kinds cannot be published. */
  | 'source-refused'
  /** Pages that name their set wrongly. */
  | 'page-refused'
  /** Redirects that never end, or a page for what does not exist that nobody could be shown. */
  | 'settings-refused'
  /** The template for fallback pages is missing, or makes pages that could not be trusted. */
  | 'template-refused'
  /** A file changed while it was being protected. */
  | 'source-changed'
  /** `publisher.index` is a database of another program. */
  | 'index-foreign'
  /** `publisher.index` was made by a newer wispr. */
  | 'index-newer'
  /** A set was to have a new key, and no document is in it. */
  | 'set-unknown'
  /** The output directory holds what wispr did not make. */
  | 'output-foreign'
  /** The output could not be written. */
  | 'output-failed'
  /** A thread that writes documents ended by itself. */
  | 'writer-failed'
  /** The run was told to stop before anything took its place. */
  | 'stopped'
  /** The output lacks what its publication names. */
  | 'output-incomplete'
  /** A publication has a number that nobody gets to by publishing. */
  | 'number-out-of-bounds'
  /** The target holds another publisher's site. */
  | 'target-foreign'
  /** The target has a publication that was not made here. */
  | 'target-newer'
  /** The target has another publication, or another root, of a number that was used here. */
  | 'target-forked'
  /** The target does not have the publication yet that was to be confirmed there. */
  | 'target-behind'
  /** The target took the timestamp, and goes on showing something else. */
  | 'target-reverted'
  /** The key server confirmed the publication before, or without a withdrawal, while this one was on its way. */
  | 'timestamp-outrun'
  /** This machine's clock, or the time at which the publication was signed, is far ahead of the clock of a server that was asked. */
  | 'clock-ahead'
  /** There are documents that nobody could be given the keys of. */
  | 'keys-not-handed-over'
  /** The file with the key server's token cannot be read, or holds none. */
  | 'token-unreadable'
  /** The key server does not take what it was given. */
  | 'key-server-refused'
  /** The key server does not answer. */
  | 'key-server-unreachable'
  /** What was to be verified or inspected is not there, or cannot be read. */
  | 'tree-unreadable';

/** The publisher's program could not do what it was asked. */
export class PublishError extends CodedError<PublishErrorCode> {
  constructor(code: PublishErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
