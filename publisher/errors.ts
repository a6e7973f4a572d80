import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../core/errors.ts';

/** What can go wrong at the publisher's. Unless a code says otherwise, nothing was changed. */
export const PUBLISH_ERRORS = {
  'configuration-missing': {
    means: 'there is no `wispr.json` where one was looked for',
    remedy: '`wispr init URL`, or name the directory of `wispr.json`',
  },
  'configuration-invalid': {
    means: '`wispr.json` is malformed; the message names the line',
    remedy: 'correct it (docs/configuration.md)',
  },
  'workspace-exists': {
    means: '`wispr init` found a configuration or keys, and overwrites nothing',
    remedy: 'go on with `wispr protect`, or make the new site in another directory',
  },
  'workspace-overlap': {
    means: 'keys, source and output lie inside one another',
    remedy: 'change `source` or `out`, or use another directory',
  },
  'workspace-busy': {
    means: 'another wispr command uses this workspace',
    remedy: 'wait for it, or end it',
  },
  'passphrase-too-short': {
    means: 'a new passphrase has fewer than 8 characters',
    remedy: 'take a longer one',
  },
  'passphrase-wrong': {
    means: 'the passphrase does not open `publisher.keys`',
    remedy: 'try again; a lost passphrase cannot be recovered',
  },
  'key-store-missing': {
    means: '`publisher.keys` is not beside `wispr.json`, or cannot be read',
    remedy: 'restore it from your backup; if it exists, make it readable for the user who runs wispr',
  },
  'key-store-damaged': {
    means: "`publisher.keys`, `root.keys` or a signer's key file was changed or cut",
    remedy: 'restore it from your backup',
  },
  'key-store-kind': {
    means: 'a key file of another kind than needed, or of a newer wispr',
    remedy: 'name the right file, or update wispr',
  },
  'key-store-older': {
    means: '`publisher.keys` is from before a change of signing keys; nothing was changed',
    remedy: 'restore the one from after that change',
  },
  'root-keys-missing': {
    means: '`root.keys` or another key file is missing, or cannot be read',
    remedy: 'name it with `--root-keys FILE` or `--key FILE`',
  },
  'signer-invalid': {
    means: "a file that should hold a signer's public key does not",
    remedy: 'take the file that ends in `.pub`, made by `wispr keys new-signer`',
  },
  'signers-refused': {
    means: 'a role cannot have such keys or such a threshold',
    remedy: '`wispr keys list` shows all keys; docs/keys.md',
  },
  'section-key-missing': {
    means: 'a section must be signed, and too few of its keys are here',
    remedy: 'publish once with its key file: `--key FILE`',
  },
  'section-too-large': {
    means: 'a section has more documents than its signed list can hold',
    remedy: 'divide it into several sections in `wispr.json`',
  },
  'signer-unknown': {
    means: 'none of the keys here may sign this',
    remedy: 'name another key file; after a new timestamp key, export it again',
  },
  'draft-open': {
    means: 'a root waits for signatures, and so does the next change',
    remedy: '`wispr keys sign` and `wispr keys finish`, or delete the file to give the change up',
  },
  'draft-malformed': {
    means: 'the file is no root waiting for signatures, or was changed',
    remedy: 'let the publisher send `root.N.json` again',
  },
  'draft-stale': {
    means: 'another root was made meanwhile, or the file changed after it was shown',
    remedy: 'make the change again, and have the new file signed',
  },
  'signatures-missing': {
    means: 'a root or the lists of a publication lack signatures',
    remedy: 'add key files with `--key FILE`; for a root, let its signers sign it',
  },
  'publication-missing': {
    means: 'there is no publication where one was looked for',
    remedy: '`wispr publish` makes one; on a new disk, see docs/publish.md#when-the-disk-is-lost',
  },
  'version-unknown': {
    means: 'the publication that was named was never published',
    remedy: '`wispr keys list` shows the current one',
  },
  'recipient-invalid': {
    means: "the key server's public key is not one",
    remedy: 'copy `keyserver.pub` again, which `wispr keyserver` names when it starts',
  },
  'source-unreadable': {
    means: 'a file or directory of the site cannot be read',
    remedy: 'check "source" in wispr.json, and the permissions of the files',
  },
  'source-refused': {
    means: 'names, links or kinds of files that cannot be published; the message lists them',
    remedy: 'rename, remove or ignore them',
  },
  'page-refused': {
    means: 'a page names its set wrongly; the message names it',
    remedy: 'name the set once, in the head: `<meta name="wispr-set" content="…">`',
  },
  'settings-refused': {
    means: 'redirects in a loop, or a `notFound` page that is missing or not public',
    remedy: 'correct `redirects` or `notFound` in `wispr.json`',
  },
  'template-refused': {
    means: 'the template for fallback pages is missing, faulty or unsafe',
    remedy: 'correct `fallback.template` (docs/configuration.md#fallback-pages), or leave it out',
  },
  'source-changed': {
    means: 'a file changed while the site was being protected',
    remedy: 'protect again',
  },
  'database-foreign': {
    means: '`publisher.db` was made by another program, or by another version of wispr',
    remedy: 'use that version; or remove the file: every document is written again then',
  },
  'set-unknown': {
    means: '`--rekey` names a set that no document is in',
    remedy: '`wispr protect --dry-run` lists all sets',
  },
  'output-foreign': {
    means: 'the output directory holds what wispr did not make',
    remedy: 'move it away, or choose another `out`',
  },
  'output-failed': {
    means: 'a file cannot be written: disk full, permissions, memory, or names the file system does not distinguish',
    remedy: 'check space and permissions',
  },
  stopped: {
    means: 'the command was stopped (Ctrl-C, SIGTERM); the message says what readers have',
    remedy: 'run the same command again',
  },
  'output-incomplete': {
    means: '`out` lacks a file that its publication names',
    remedy: '`wispr protect` makes it again',
  },
  'target-foreign': {
    means: "the target holds another publisher's site; nothing was sent",
    remedy: 'name another target, or remove what is there',
  },
  'target-behind': {
    means: 'the target lacks the publication or the root that a timestamp names; nothing was put there',
    remedy: '`wispr publish`',
  },
  'publication-older': {
    means: 'the publication is older than the one that is current',
    remedy: '`wispr publish` makes a higher one',
  },
  'publication-other': {
    means: 'another copy of this workspace has published the same number, or changed the keys',
    remedy: '`wispr publish` makes a higher one; with other signing keys, use that copy',
  },
  'publication-gone': {
    means: 'an earlier publication is not kept whole any more, or its keys or sections were replaced since',
    remedy: '`wispr rollback VERSION` with another one; or correct the source, then `wispr publish`',
  },
  'clock-off': {
    means: "this clock is far ahead of the bucket's; readers refuse what is signed so",
    remedy: 'set the clock; what was signed already: `wispr keys rotate timestamp`, then `wispr publish`',
  },
  'token-unreadable': {
    means: 'the token file cannot be read, is empty, or is readable by others',
    remedy: '`wispr admin token` makes one; `chmod 600` the file',
  },
  'key-server-refused': {
    means: 'the key server refuses keys or publication; the message says why',
    remedy: 'correct that, then run the same command again',
  },
  'key-server-unreachable': {
    means: 'the key server does not answer, and is needed',
    remedy: 'run the same command again when it does',
  },
  'tree-unreadable': {
    means: 'what was to be verified or inspected cannot be read',
    remedy: 'check the path or the URL, and the permissions',
  },
} as const satisfies ErrorCatalogue;

export type PublishErrorCode = keyof typeof PUBLISH_ERRORS;

/** The publisher's program could not do what it was asked. */
export class PublishError extends CodedError<PublishErrorCode> {
  constructor(code: PublishErrorCode, message: string, options?: CodedErrorOptions) {
    super(PUBLISH_ERRORS, code, message, options);
  }
}

/** @param state - what readers find now */
export function stopped(state = 'readers find the previous publication'): PublishError {
  return new PublishError('stopped', `stopped; ${state}`);
}
