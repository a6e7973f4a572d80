import {
  CodedError,
  type CodedErrorOptions,
  type ErrorCatalogue,
  type ErrorFields,
  remedyFor,
} from '../core/errors.ts';
import { KEY_ERRORS } from '../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../core/publication/errors.ts';
import { READING_ERRORS } from '../core/reading/errors.ts';

/** What can go wrong on the reader's machine, besides the checks of `core/`. docs/errors.md documents each. */
export const READER_ERRORS = {
  // the store
  'store-damaged': {
    means: 'the database was changed or damaged; it was not touched',
    remedy: 'restore a backup; or move it away, then `wispr identity import` or connect again',
  },
  'store-newer': {
    means: 'the database was written by a newer wispr',
    remedy: 'update',
  },
  'store-exposed': {
    means: "other users may change files in the database's folder",
    remedy: '`chmod 700`, or another folder with `--data`',
  },
  'store-unusable': {
    means: 'the database, or its key file, cannot be opened or made',
    remedy: 'check permissions and space, or choose another folder with `--data`',
  },
  'store-unwritable': {
    means: 'the database cannot be written; nothing was changed',
    remedy: 'check the disk and permissions, and try again',
  },
  'store-busy': {
    means: 'another wispr command has the database',
    remedy: 'answer what it asks, as `wispr bind` does, or end it, and try again; `fuser {file}` shows its process',
  },
  'disk-full': {
    means: 'the disk of the database, its key or the output is full; nothing was changed',
    remedy: 'make room on the named disk, and try again',
  },
  'storage-key-missing': {
    means: 'the key of the database is missing or cannot be read',
    remedy:
      'restore it, or name it with `--key-file`; else move `reader.db` away, then `wispr identity import FILE` or a new invitation',
  },
  'storage-key-exposed': {
    means: 'other users may read the key file of the database',
    remedy: '`chmod 600`',
  },
  'storage-key-wrong': {
    means: 'that file holds another key, or none',
    remedy: 'restore it; else move it and `reader.db` away, then `wispr identity import FILE` or a new invitation',
  },
  'keyring-unavailable': {
    means: 'the system keyring is locked, absent or not supported by this file',
    remedy:
      'sign in to the desktop and unlock it; or `wispr identity protect passphrase` or `wispr identity protect key-file`',
  },
  'passphrase-needed': {
    means: 'the database is protected by a passphrase, and none was given',
    remedy: '`--passphrase-file`, or start on a terminal',
  },
  'passphrase-wrong': {
    means: 'it is another passphrase',
    remedy: 'try again; a lost passphrase cannot be recovered',
  },
  'passphrase-unexpected': {
    means: 'the database is not protected by a passphrase',
    remedy: 'leave it out; `wispr identity protect passphrase --new-passphrase-file FILE` sets one',
  },
  'unlock-too-often': {
    means: 'five wrong passphrases in a row',
    remedy: 'wait ten seconds, and try again',
  },
  'reader-locked': {
    means: 'the Reader has dropped its keys, and shows no connected site',
    remedy: '`wispr identity unlock`, or its own page',
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
    means: 'not the link of an invitation',
    remedy: 'copy it whole, between quotes',
  },
  'code-needed': {
    means: 'this device is not connected with that key server yet',
    remedy: 'add the code of an invitation',
  },
  'code-alone': {
    means: 'a code without key server and site',
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
    means: "the site's host and name servers do not answer",
    remedy: 'check the connection, and try again',
  },
  'not-confirmed': {
    means: 'no site was confirmed',
    remedy: 'run `wispr bind` again, and confirm the sites you want to read',
  },
  // keys
  'key-server-unreachable': {
    means: 'the key server did not answer',
    remedy: 'check the connection, and try again',
  },
  'key-server-certificate': {
    means: "the key server's certificate is not valid",
    remedy: 'check the clock, or try another network',
  },
  'key-server-answer': {
    means: 'the key server answered with something else',
    remedy: 'try again in a few minutes; if it stays so, tell the publisher this code',
  },
  'not-entitled': {
    means: "the subscription does not include the document's set",
    remedy: 'ask the publisher for access; after subscribing, try again in a minute',
  },
  'subscription-lapsed': {
    means: 'the subscription has ended',
    remedy: 'renew the subscription with the publisher',
  },
  'device-revoked': {
    means: 'the publisher disconnected this device',
    remedy: 'ask the publisher for a new invitation: `wispr bind "URL#CODE"`',
  },
  // requests
  'site-withdrawn': {
    means: "the publisher's descriptor does not name the site any more",
    remedy: 'ask the publisher whether it still publishes this site',
  },
  'bad-request': {
    means: 'the request is not valid HTTP/1.0 or HTTP/1.1, or not for `http:`',
  },
  'method-refused': {
    means: 'documents can only be read with GET and HEAD; service workers are refused',
  },
  'cross-site': {
    means: 'a page of another site requested a protected page, or a page the proxy file',
    remedy: 'open the address in a new tab',
  },
  'other-user': {
    means: 'the connection came from another user, or from outside the machine',
    remedy: 'start a Reader of your own, on another port',
  },
  'host-unknown': {
    means: 'the name is not one of this proxy',
    remedy: 'check the address',
  },
  'port-refused': {
    means: 'no requests to this port: 25, or of a connected site other than 80',
    remedy: 'leave the port out of the address',
  },
  'local-refused': {
    means: 'the address leads to this computer or its network',
    remedy: 'bypass the proxy for it; or `--allow-local {endpoint}`',
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
    means: 'too many documents wait for clients that do not read them',
    remedy: 'try again; end programs that request without reading',
  },
  // forms of the Reader's own pages
  'form-foreign': {
    means: "a form did not come from the Reader's own page",
    remedy: "do it on the Reader's page",
  },
  'form-malformed': {
    means: 'a form is malformed, or from before a restart of the Reader',
    remedy: 'open the page again, and fill in the form again',
  },
  'page-unknown': {
    means: 'the Reader has no page of its own at this address',
    remedy: 'check the address',
  },
  // keeping
  'site-unknown': {
    means: 'this device is not connected with the site',
    remedy: '`wispr bind` with an invitation; `wispr proxy status` lists connected sites',
  },
  'cache-too-small': {
    means: '`wispr sync` needs more room than the cache or the disk has; nothing was fetched',
    remedy: 'give the cache more room (`--cache-size {size}`), or sync fewer documents',
  },
  'cache-unusable': {
    means: 'nothing can be kept in the folder of the cache',
    remedy: "check the space on the disk and the folder's permissions",
  },
  // for programs
  'address-malformed': {
    means: 'an address on the command line is malformed',
    remedy: 'name it like `https://news.example/a.html`; else see the message',
  },
  'range-refused': {
    means: 'the range begins after the end, or counts from an unknown end',
    remedy: 'another range, or the whole document',
  },
  'condition-unmet': {
    means: 'the document is another version than `If-Match` or `If-Unmodified-Since` asks for',
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
    means: 'systemd failed, or the Reader that it started does not run',
    remedy: '`journalctl --user --unit wispr.service`',
  },
  'unit-foreign': {
    means: 'a `wispr.service` exists that `wispr proxy install` did not write',
    remedy: 'if it is not needed, move it away',
  },
  'unit-unwritable': {
    means: 'the unit cannot be written, or cannot hold what it should say',
    remedy: 'see the message',
  },
  'reader-running': {
    means: 'a Reader runs and is in the way, or has its own value of an option',
    remedy: 'stop the Reader first: `kill {process}`',
  },
  'reader-unreachable': {
    means: 'a Reader has the database and gives no answer',
    remedy: 'end it, and try again; `fuser {directory}/reader.db` shows its process',
  },
  // starting
  'parent-proxy-unreachable': {
    means: 'the parent proxy cannot be reached, or does not speak HTTP',
    remedy: 'start it, or check the address in `--parent-proxy` or the settings of the Reader',
  },
  'parent-proxy-auth': {
    means: 'the parent proxy refuses name and password',
    remedy: 'write http://NAME:PASSWORD@HOST:PORT into a file for --parent-proxy-file',
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
    means: 'a Reader runs on this database already',
    remedy: 'use that one, or stop it first: `kill {process}`',
  },
  'owner-unknown': {
    means: 'this system does not tell which of its users made a connection',
    remedy: '`--other-users`, if you alone use this machine',
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
export function readerRemedy(code: string, fields?: ErrorFields): string | undefined {
  const catalogues = [READER_ERRORS, READING_ERRORS, OBJECT_ERRORS, KEY_ERRORS, PUBLICATION_ERRORS];
  return catalogues.map((catalogue) => remedyFor(catalogue, code, fields)).find((remedy) => remedy !== undefined);
}
