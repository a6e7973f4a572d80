import { CodedError, type CodedErrorOptions, type ErrorCatalogue, remedyFor } from '../core/errors.ts';
import { KEY_ERRORS } from '../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../core/publication/errors.ts';
import { READING_ERRORS } from '../core/reading/errors.ts';

/** What can go wrong on the reader's machine, besides the checks of `core/`. docs/errors.md documents each. */
export const READER_ERRORS = {
  // the store
  'store-damaged': {
    means: "the reader's database was changed or damaged; it is not touched",
    remedy: 'restore a backup; without one, move it away, and `wispr identity import` a roaming file or connect again',
  },
  'store-newer': {
    means: 'the database was written by a newer wispr',
    remedy: 'update',
  },
  'store-exposed': {
    means: 'other users of the machine may change files in the folder, or own them',
    remedy: '`chmod 700`, or a folder of your own with `--data`',
  },
  'store-unusable': {
    means:
      'the database cannot be opened, or its key file or the file that says that a Reader runs cannot be written; or the database of a Reader that runs was erased or replaced, or the files `-wal` and `-shm` beside it: that one has let go of its keys, shows nothing of its sites, and can neither be unlocked nor keep anything; or nobody can look into its folder',
    remedy:
      'check permissions and space; `--data`; move back what was only moved, and unlock that Reader; else stop it, and start it again',
  },
  'store-unwritable': {
    means:
      'the database is open, and cannot be written for a reason of its disk, its folder or its own; nothing was changed. A Reader that runs goes on reading, and goes by what it learns, from memory',
    remedy: 'check the disk and permissions, and try again; do not stop a Reader that runs before',
  },
  'store-busy': {
    means:
      'another program is writing to the database, for longer than five seconds, or changed its protection just now; nothing was changed, and a Reader that runs goes on reading',
    remedy: 'try again; if it stays so, end that program. A Reader that runs need not be restarted',
  },
  'disk-full': {
    means:
      "the disk is full on which the reader's database, its key or its folder lies, or the file that `wispr fetch --output` writes: what was asked for was not done. A Reader that runs goes on reading meanwhile, and goes by what it learns, from memory (docs/reader.md#what-is-kept-on-disk)",
    remedy: 'make room on the disk that is named; then try again. A Reader that runs need not be restarted',
  },
  'storage-key-missing': {
    means: 'the file or keyring entry with the key of the database is not there, or the file cannot be read',
    remedy:
      'restore it from a backup, or name the file with `--key-file`, if it lies elsewhere; without one, move `reader.db` away, and `wispr identity import` a roaming file or connect again; permissions of a file that is there',
  },
  'storage-key-exposed': {
    means: 'other users of the machine may read the file with the key of the database',
    remedy: '`chmod 600`',
  },
  'storage-key-wrong': {
    means: 'that file holds another key, or none',
    remedy:
      'restore it from a backup; without one, move `reader.db` away, and a file that holds no key as well, and `wispr identity import` a roaming file or connect again',
  },
  'keyring-unavailable': {
    means:
      "the key of the database is in the system's keyring, or was to go there, and that is locked, absent or silent, or this single file has no library for it",
    remedy:
      'sign in to the desktop, and try again; where there is none, `wispr identity protect passphrase` or `key-file`, for a key that is in the keyring already from where that can be used',
  },
  'passphrase-needed': {
    means:
      'the database is protected by a passphrase, and none was given; or everything was forgotten that one protected, and a Reader that runs was to begin anew without one',
    remedy: '`--passphrase-file`, or start on a terminal; a new one on the page of that Reader',
  },
  'passphrase-wrong': {
    means: 'it is another passphrase',
    remedy: 'try again; nobody can find out a passphrase that is lost',
  },
  'passphrase-unexpected': {
    means: 'the database is not protected by a passphrase',
    remedy: 'leave it out; `wispr identity protect passphrase --new-passphrase-file FILE` sets one',
  },
  'unlock-too-often': {
    means: 'five wrong passphrases in a row, or several at once: this one was not looked at',
    remedy: 'wait ten seconds, and try again',
  },
  'reader-locked': {
    means: 'the Reader holds no keys: it was locked, also while an unlock that was asked for before was under way',
    remedy: "unlock it on the Reader's own page, or with `wispr identity unlock`",
  },
  'words-mistyped': {
    means: 'a word is not in the list, or there are not seven',
    remedy: 'compare them with what you wrote down',
  },
  'roaming-older': {
    means: 'this device knows a newer roaming file of the same line',
    remedy: 'fetch the newest; `--older` takes this one all the same',
  },
  'roaming-unavailable': {
    means: 'the roaming file could not be fetched',
    remedy: 'check the address',
  },
  'roaming-exists': {
    means: 'what is there under this name is no roaming file',
    remedy: 'choose another name',
  },
  'roaming-unwritable': {
    means: 'the roaming file cannot be written',
    remedy: 'check space and permissions, or choose another name',
  },
  'not-connected': {
    means: 'this device is not connected with that publisher',
    remedy: '`wispr identity` lists them',
  },
  'no-identity': {
    means: "there is no reader's database in the folder",
    remedy: 'connect first, or name the folder with `--data`',
  },
  'passphrase-too-short': {
    means: 'a new passphrase has fewer than 8 characters',
    remedy: 'take a longer one',
  },
  // connecting to a publisher
  'link-malformed': {
    means: 'not the link of an invitation, nor the command with it that `wispr invite` prints',
    remedy: 'copy it whole, between quotes',
  },
  'code-needed': {
    means: 'this device is not connected with that key server yet',
    remedy: 'add the code of an invitation',
  },
  'code-alone': {
    means: "an invitation code without the key server's address, and without the site it is for",
    remedy: 'name the site, or use the whole link',
  },
  'code-refused': {
    means: 'the code is mistyped, used, or expired; or too many were tried',
    remedy: 'copy it whole, or ask for a new invitation',
  },
  'clock-off': {
    means: "this machine's clock and the key server's differ by more than five minutes",
    remedy: 'set the clock of this machine, and try again',
  },
  'descriptor-foreign': {
    means: 'the key server shows the descriptor of another key server',
    remedy: 'use the address that the publisher gave',
  },
  'descriptor-older': {
    means: 'the descriptor is older than the one this device has',
    remedy: 'try again later; tell the publisher',
  },
  'site-taken': {
    means: 'the site is connected to another publisher or key server',
    remedy: 'two publishers never share a site',
  },
  'host-proof-unreachable': {
    means:
      'a host could not be asked who its publisher is: it does not answer, and has no record, or the name servers do not answer',
    remedy: 'check the connection, and try again',
  },
  'not-confirmed': {
    means: 'no site was confirmed',
    remedy: 'run `wispr bind` again, and answer y for the sites that you want to read',
  },
  // keys
  'key-server-unreachable': {
    means: 'the key server did not answer',
    remedy: 'check the connection, and try again: the key is not on this machine yet, and only the key server gives it',
  },
  'key-server-certificate': {
    means: "the key server's certificate is not valid",
    remedy: 'check the clock of this machine, or try another network; if it stays so, tell the publisher',
  },
  'key-server-answer': {
    means: 'the key server answered with something else',
    remedy: 'try again in a few minutes; if it stays so, tell the publisher this code',
  },
  'not-entitled': {
    means: "the subscription does not include the document's set",
    remedy: 'if it should be yours to read, ask the publisher; after subscribing, wait a minute and try again',
  },
  'subscription-lapsed': {
    means: 'the subscription has ended',
    remedy: 'renew the subscription with the publisher',
  },
  'device-revoked': {
    means: 'the publisher disconnected this device',
    remedy: 'ask the publisher for a new invitation, and connect with it: wispr bind "URL#CODE"',
  },
  // requests
  'site-withdrawn': {
    means: "the publisher's descriptor does not name the site any more",
    remedy: 'ask the publisher whether it still publishes this site',
  },
  'bad-request': {
    means:
      'the request is not valid HTTP/1.0 or HTTP/1.1, has a transfer coding other than `chunked`, or asks for an address other than `http:`',
  },
  'method-refused': {
    means: 'documents can only be read, with GET and HEAD, and not as service workers, which would outlive the keys',
  },
  'cross-site': {
    means:
      'a page of another site asked for a page of a connected site, or of the Reader; or a page asked for the proxy file',
    remedy: 'open the address in a tab of its own',
  },
  'other-user': {
    means: 'the connection was made by another user of the machine, or from outside of it',
    remedy: 'start a Reader of your own, on another port',
  },
  'host-unknown': {
    means: 'the name is not one of this proxy',
    remedy: 'check the address',
  },
  'port-refused': {
    means:
      'the proxy makes no requests and no tunnels to this port: 25, or one of a connected site, which has nothing on other ports than 80',
    remedy: 'leave the port out of the address',
  },
  'local-refused': {
    means: 'the address leads to this computer or into its own network, where no page may get by way of the proxy',
    remedy: 'tell the browser not to use the proxy for it; or `--allow-local {endpoint}`',
  },
  loop: {
    means: 'the request would come back to the proxy',
    remedy: 'check `--connect-to` and the proxy settings',
  },
  'host-unreachable': {
    means: 'a site that passes through did not answer',
    remedy: 'check the address',
  },
  'host-answer': {
    means: 'a site that passes through gave a malformed answer',
  },
  'reader-busy': {
    means:
      'too many documents are being decoded or changed for clients that do not take them: this one waited a minute for its turn, or was broken off, because nothing had been taken of it for longest',
    remedy: 'try again; end the programs that ask and do not read',
  },
  // forms of the Reader's own pages
  'form-foreign': {
    means: "something else than one of the Reader's own pages wanted to change its settings or connections",
    remedy: "nothing, if it was not you; otherwise do it on the Reader's page",
  },
  'form-malformed': {
    means:
      "a form of the Reader's pages is from before a restart of the Reader, or arrived in a form that no browser sends, too large or too slowly",
    remedy: 'open the page again, and fill in the form once more',
  },
  'page-unknown': {
    means: 'the Reader has no page of its own at this address',
    remedy: 'check the address',
  },
  // keeping
  'site-unknown': {
    means: 'this device is not connected with the site that was named',
    remedy: '`wispr bind` with the link of an invitation; `wispr proxy status` lists what is connected',
  },
  'cache-too-small': {
    means:
      'what `wispr sync` is to fetch, with what is kept for synced sites already, needs more room than nine tenths of the cache, or than the disk has, or the size of the cache is 0; nothing was fetched',
    remedy: 'a larger cache, as the message says, or fewer documents',
  },
  'cache-unusable': {
    means: 'nothing can be kept in the folder of the cache',
    remedy: "check the space on the disk and the folder's permissions",
  },
  // for programs
  'address-malformed': {
    means:
      'an address that was typed is malformed: a document for `wispr fetch`, `--connect-to HOST1:PORT1:HOST2:PORT2`, `--allow-local HOST[:PORT]`, or the URL of the parent proxy, which is not repeated because it may hold a password',
    remedy: 'name it like `https://news.example/a.html`; else see the message',
  },
  'range-refused': {
    means:
      'the document is shorter than where the range begins, or ranges from its end are not possible, because it travels compressed',
    remedy: 'another range, or the whole document',
  },
  'condition-unmet': {
    means:
      '`If-Match` or `If-Unmodified-Since`, sent along by `wispr fetch`, asks for another version of the document than there is; nothing was fetched',
    remedy: 'leave that field out; `wispr fetch --head` shows what there is',
  },
  'redirect-refused': {
    means: "the publisher's redirects do not end",
    remedy: 'tell the publisher',
  },
  // the service
  'service-manager-missing': {
    means: '`wispr proxy install` knows systemd only, and this machine has none',
    remedy: 'docs/reader.md says how launchd and Task Scheduler do it',
  },
  'service-failed': {
    means: 'systemd did not do what it was asked, or the Reader that it started does not run',
    remedy: '`journalctl --user --unit wispr.service`',
  },
  'unit-foreign': {
    means: 'there is a `wispr.service` that `wispr proxy install` did not write; it was left alone',
    remedy: 'if it is not needed, move it away',
  },
  'unit-unwritable': {
    means: 'the unit cannot be written, or cannot hold what it should say',
    remedy: 'see the message',
  },
  'reader-running': {
    means: 'Readers that were started by hand run with this database; all of them are named',
    remedy: 'stop them, and try again',
  },
  'reader-unreachable': {
    means:
      'a Reader runs with this database and gave no answer: it hangs, or its socket is not there any more, because its session ended or the folder was not its own; what it has, keys among it, it still has',
    remedy:
      'end it with the number that is shown, and try again; where a file is named instead, end the Reader where it runs, in a container or on another machine, and remove the file only when none runs any more',
  },
  // starting
  'parent-proxy-unreachable': {
    means: 'the parent proxy, through which everything is to be fetched, could not be reached; nobody else was asked',
    remedy:
      'start that proxy, or check its address: --parent-proxy, --parent-proxy-file, or the settings of the Reader',
  },
  'parent-proxy-auth': {
    means: 'the parent proxy wants a name and a password, or did not take those that it was given',
    remedy:
      'write http://NAME:PASSWORD@HOST:PORT into a file that only you can read, and name that with --parent-proxy-file',
  },
  'port-taken': {
    means: 'the port is in use, on 127.0.0.1 or on ::1',
    remedy: 'stop the other program, or `--port`',
  },
  'port-unusable': {
    means: 'the port cannot be listened on, as those below 1024 by ordinary users',
    remedy: 'another one with `--port`',
  },
  'already-running': {
    means: 'your own Reader is running at that port',
    remedy: 'use it, or give the second one another port with `--port`',
  },
  'owner-unknown': {
    means: 'this system does not tell which of its users made a connection',
    remedy: '`--other-users`, if nobody else uses this machine',
  },
  internal: {
    means: 'a fault of the Reader itself',
    remedy: 'report it',
  },
} as const satisfies ErrorCatalogue;

export type ReaderErrorCode = keyof typeof READER_ERRORS;

/** The reader's side could not do what it was asked; nothing was released, and nothing half changed. */
export class ReaderError extends CodedError<ReaderErrorCode> {
  constructor(code: ReaderErrorCode, message: string, options?: CodedErrorOptions) {
    super(READER_ERRORS, code, message, options);
  }
}

/** What a reader can do about an error with this code, of whichever layer: Markdown. */
export function readerRemedy(code: string): string | undefined {
  const catalogues = [READER_ERRORS, READING_ERRORS, OBJECT_ERRORS, KEY_ERRORS, PUBLICATION_ERRORS];
  return catalogues.map((catalogue) => remedyFor(catalogue, code)).find((remedy) => remedy !== undefined);
}
