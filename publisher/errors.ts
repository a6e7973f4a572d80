import type { ErrorCatalogue } from '../core/errors.ts';
import { type DiskFullCode, fileErrorClass } from '../node-support/disk-full.ts';
import { describeUnreadable } from '../node-support/system-error.ts';

/** Errors of the publisher. Nothing was changed, unless a code says otherwise. */
export const PUBLISH_ERRORS = {
  'configuration-missing': {
    means: 'there is no `wispr.json` where the command looked for it',
    remedy: 'run this in the directory where you ran `wispr init`, or name it with `-c`',
  },
  'configuration-invalid': {
    means: '`wispr.json`, its template or its directories are not possible; the message says why',
    remedy: 'correct it (docs/configuration.md)',
  },
  'site-refused': {
    means: 'the URL is not that of a site',
    remedy: 'a site has a host name of its own, and no path: `https://news.example`',
  },
  'web-reader-missing': {
    means: 'this copy of wispr lacks the in-browser reader, which is part of every site',
    remedy: 'in a clone, `npm run build:web`; otherwise install wispr again',
  },
  'passphrase-too-short': {
    means: 'a new passphrase has fewer than 8 characters',
    remedy: 'take a longer one',
  },
  'passphrase-wrong': {
    means: 'the passphrase does not open `publisher.keys`',
    remedy: 'try again; a lost passphrase cannot be recovered',
  },
  'signatures-missing': {
    means: 'a root or a list lacks signatures, or none of the keys here may sign it',
    remedy: 'add key files with `--key FILE`; for a root, let its signers sign it',
  },
  'publication-missing': {
    means: 'there is no publication where one was looked for, or not all of its files',
    remedy: '`wispr publish` makes one; on a new disk, see docs/publish.md#when-the-disk-is-lost',
  },
  'source-refused': {
    means: 'a file of the site cannot be read or published, or changed meanwhile; the message names it',
    remedy: 'correct, rename, remove or ignore it, or check `source` in `wispr.json`; then run the same command again',
  },
  'removal-unconfirmed': {
    means: 'more documents are gone from the site than `removalPercent` lets go',
    remedy: 'build the site to its end, or add `--allow-removal`',
  },
  'output-foreign': {
    means: 'the place holds what this workspace did not make; nothing was overwritten',
    remedy: 'move it away, or choose another place',
  },
  'output-failed': {
    means: 'a file cannot be written: permissions, memory, or names the file system does not distinguish',
    remedy: 'check the permissions',
  },
  stopped: {
    means: 'the command was stopped (Ctrl-C, SIGTERM); the message says what readers have',
    remedy: 'run the same command again',
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
  'workspace-behind': {
    means:
      'the last publication was made in another copy of this workspace, or with a later `publisher.keys`; nothing was published',
    remedy:
      'publish there, or bring its site and `publisher.keys` here; if they are lost: `wispr publish --restored` publishes what is here and gives every set a new key',
  },
  'not-merged': {
    means: 'the last publication, or the withdrawal, was made in another copy of this workspace; nothing was published',
    remedy: 'bring its changes into the site here; then `wispr publish --merged`',
  },
  'not-alone': {
    means: '`wispr publish --only` would have to look at more than the documents that it names; nothing was published',
    remedy: 'run `wispr publish` for the whole site; take back first what is not to be sent',
  },
  'publishing-elsewhere': {
    means: 'somebody else publishes this site at this moment; nothing was published',
    remedy: 'wait until that has ended; where it was killed, run it again there, or wait two minutes',
  },
  'clock-off': {
    means:
      "this clock is far ahead of the bucket's; or the key server has signed a timestamp while its own was ahead, and signs nothing until then",
    remedy:
      'set the clock that is wrong; if all are right again, `wispr keys rotate timestamp --publish` ends it, and readers follow',
  },
  'key-server-refused': {
    means: 'the key server refuses keys or publication; the message says why',
    remedy: 'correct that, then run the same command again',
  },
  'key-server-unreachable': {
    means: 'the key server does not answer, and is needed',
    remedy: 'run the same command again when it does',
  },
  'store-busy': {
    means: 'another wispr command uses this workspace',
    remedy:
      'wait for it, or end it: it may be `wispr publish --at`, which waits for its time, and which Ctrl-C ends with nothing sent',
  },
  'key-store-refused': {
    means: '`publisher.keys` or a key file is missing, damaged, or from before a change of signing keys',
    remedy:
      'if it exists, make it readable for the user who runs wispr: nothing is lost; else restore it from your backup',
  },
  'key-file-refused': {
    means: 'a key file is missing, unreadable, of another kind than needed, or of a newer wispr',
    remedy:
      'name the right file: public keys end in `.pub`; `--root-keys FILE` and `--key FILE` name secret ones; or update wispr',
  },
  'argument-invalid': {
    means: 'a document, set, version, invitation, or choice of keys and threshold that is not possible',
    remedy:
      'name one that there is: `wispr keys list` shows keys, invitations and the current version, `wispr protect --dry-run` sets',
  },
  'draft-refused': {
    means: 'a root waits for signatures, was changed, or is out of date',
    remedy: '`wispr keys sign` and `wispr keys finish` complete it; else delete the file, and make the change again',
  },
  unreadable: {
    means: 'what was to be verified or inspected cannot be read',
    remedy: 'check the path or the URL, and the permissions',
  },
  'token-refused': {
    means: 'the token file cannot be read, is empty, or is readable by others',
    remedy: '`wispr admin token` makes one; `chmod 600` the file',
  },
} as const satisfies ErrorCatalogue;

export type PublishErrorCode = keyof typeof PUBLISH_ERRORS | DiskFullCode;

export class PublishError extends fileErrorClass(PUBLISH_ERRORS) {}

/**
 * Returns a handler for the failure to read a file.
 *
 * @param what - the file, in messages
 * @param typed - whether its name was typed
 */
export function whenUnreadable(code: PublishErrorCode, what: string, typed = false): (cause: unknown) => never {
  return (cause) => {
    throw new PublishError(code, describeUnreadable(what, cause), { cause, ...(typed && { typed }) });
  };
}

/** @param state - what readers find now */
export function stopped(state = 'readers find the previous publication'): PublishError {
  return new PublishError('stopped', `stopped; ${state}`);
}
