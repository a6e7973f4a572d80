import { type ErrorCatalogue, type ErrorFields, remedyFor } from '../core/errors.ts';
import { CHANNEL_ERRORS } from '../core/httpcrypt/errors.ts';
import { KEY_ERRORS } from '../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../core/publication/errors.ts';
import { DISK_FULL, type DiskFullCode, fileErrorClass } from '../node-support/disk-full.ts';
import { READING_ERRORS } from '../reading/errors.ts';

/** Errors on the reader's machine, besides the checks of `core/`. docs/generated/errors.md documents each. */
export const READER_ERRORS = {
  // the store
  'store-damaged': {
    means: 'the database was changed or damaged; it was not touched',
    remedy: 'restore a backup; or move it away, then `wispr identity import` or connect again',
  },
  'store-unusable': {
    means:
      'the database, or its key file, cannot be opened or made; is of a newer wispr; or other users may change its folder',
    remedy:
      'check permissions, `chmod 700 {directory}`, and space; update wispr; or choose another folder with `--data`',
  },
  'store-unwritable': {
    means: 'the database cannot be written; nothing was changed',
    remedy: 'check the disk and permissions, and try again',
  },
  'store-busy': {
    means: 'another wispr command has the database',
    remedy: 'answer what it asks, as `wispr bind` does, or end it, and try again; `fuser {file}` shows its process',
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
  'passphrase-wrong': { means: 'it is another passphrase', remedy: 'try again; a lost passphrase cannot be recovered' },
  'reader-locked': {
    means: 'the Reader has dropped its keys, and shows no connected site',
    remedy: '`wispr identity unlock`, or its own page',
  },
  'roaming-older': {
    means: 'this device knows a newer roaming file of the same line',
    remedy: 'fetch the newest; `--older` takes this one all the same',
  },
  'not-connected': {
    means: 'this device is not connected with that site or publisher, or with none',
    remedy:
      '`wispr bind` with an invitation, or name the folder with `--data`; `wispr identity` and `wispr proxy status` list what is connected; other sites pass through `wispr proxy`, by a browser or `curl --proxy`',
  },
  'passphrase-too-short': { means: 'a new passphrase has fewer than 8 characters', remedy: 'take a longer one' },
  // connecting to a publisher
  'descriptor-foreign': {
    step: 'D4, D6',
    means:
      "the key server does not speak for the publisher that the invitation, or the site's publication, names; no code was sent",
    remedy: 'do not connect; ask the publisher itself for an invitation',
  },
  'code-refused': {
    means: 'the code is mistyped, used, or expired; or too many were tried',
    remedy: 'copy it whole, or ask for a new invitation',
  },
  'seats-taken': {
    means: 'all seats of the group that the invitation is for are taken',
    remedy: 'ask who gave you the invitation, then use the same link again',
  },
  'too-many-devices': {
    means: 'as many Readers are connected for this subscriber as the publisher allows',
    remedy: 'remove one in your account on the reading site, then use the same link again',
  },
  'clock-off': {
    means: "this machine's clock and the key server's differ by more than five minutes",
    remedy: 'set the clock of this machine, and try again',
  },
  'site-taken': { means: 'the site is connected to another publisher', remedy: 'two publishers never share a site' },
  // keys
  'key-server-unreachable': { means: 'the key server did not answer', remedy: 'check the connection, and try again' },
  'key-server-certificate': {
    means: 'its certificate is not valid',
    remedy: 'check the clock, or try another network',
  },
  'key-server-answer': {
    means: 'the key server answered with something else, or with the descriptor of another key server, or an older one',
    remedy:
      'use the address that the publisher gave; try again in a few minutes; if it stays so, tell the publisher this code',
  },
  'not-entitled': {
    means: "the subscription does not include the document's set",
    remedy: 'ask the publisher for access; after subscribing, try again in a minute',
  },
  // requests
  'site-withdrawn': {
    means: "the publisher's descriptor does not name the site any more",
    remedy: 'ask the publisher whether it still publishes this site',
  },
  'bad-request': {
    means: 'the request is not valid HTTP/1.0 or HTTP/1.1, or not for `http:`',
    remedy: 'correct the program that sent it; browsers use the Reader by its proxy file',
  },
  'method-refused': {
    means: 'documents can only be read with GET and HEAD; service workers are refused',
    remedy: 'none for readers: the publisher leaves the form or the service worker out of the site',
  },
  'cross-site': {
    means: 'a page of another site requested a protected page or the proxy file, or sent a form',
    remedy: 'open the address in a new tab',
  },
  'other-user': {
    means: 'the connection came from another user or machine, or this system does not tell which user made it',
    remedy: 'start a Reader of your own, on another port; `--other-users`, if you alone use this machine',
  },
  'host-unknown': { means: 'the name is not one of this proxy', remedy: 'check the address' },
  'port-refused': {
    means: 'no requests to this port: 25, or of a connected site other than 80',
    remedy: 'leave the port out of the address',
  },
  'local-refused': {
    means: 'the address leads to this computer or its network',
    remedy: 'permit it by `--allow-local {endpoint}`; a browser can bypass the proxy for it, too',
  },
  loop: {
    means: 'the request would come back to the proxy, or redirects do not end',
    remedy: 'check `--connect-to` and the proxy settings; of redirects, tell the publisher',
  },
  'host-unreachable': {
    means: 'a site, its name servers or the host of a roaming file did not answer',
    remedy: 'check the address and the connection, and try again',
  },
  'host-answer': {
    means: 'a site that passes through gave a malformed answer',
    remedy: 'try again later; if it stays so, tell the operator of that site',
  },
  'reader-busy': {
    means: 'too many documents wait for clients that do not read them',
    remedy: 'try again; end programs that request without reading',
  },
  // forms of the Reader's own pages
  'form-malformed': {
    means: 'a form is malformed, or from before a restart of the Reader',
    remedy: 'open the page again, and fill in the form again',
  },
  'page-unknown': { means: 'the Reader has no page of its own at this address', remedy: 'check the address' },
  // keeping
  'cache-too-small': {
    means: '`wispr sync` needs more room than the cache has; nothing was fetched',
    remedy: 'give the cache more room (`--cache-size {size}`), or sync fewer documents',
  },
  // programs
  'condition-unmet': {
    means: 'the document is another version than a condition asks for, or does not have the range',
    remedy: 'leave that field out; `wispr fetch --head` shows what there is',
  },
  // the running Reader
  'reader-running': {
    means: 'a Reader runs on this database, or has its own value of an option',
    remedy: 'use that one, or stop it first: `kill {process}`',
  },
  'reader-unreachable': {
    means: 'a Reader has the database and gives no answer',
    remedy: 'end it, and try again; `fuser {directory}/reader.db` shows its process',
  },
  // starting
  internal: { means: 'a fault of the Reader itself', remedy: 'report it' },
  'argument-invalid': {
    means: 'an address, a word or an option on the command line is not possible',
    remedy: 'see the message; an address of a document is like `https://news.example/a.html`',
  },
  'output-failed': {
    means: 'a file cannot be written, or another program has made one of this name',
    remedy: 'check space and permissions, or choose another name',
  },
  'passphrase-unexpected': {
    means: 'the database is not protected by a passphrase',
    remedy: 'leave it out; `wispr identity protect passphrase --new-passphrase-file FILE` sets one',
  },
  'storage-key-refused': {
    means: 'the key of the database is missing, unreadable, readable by others, or another one',
    remedy:
      'restore it, with `chmod 600`, or name it with `--key-file`; else move it and `reader.db` away, then `wispr identity import FILE`, or connect with a new invitation',
  },
  lapsed: { means: 'the subscription has ended', remedy: 'renew the subscription with the publisher' },
  revoked: { means: 'the publisher disconnected this device', remedy: 'ask for a new invitation (`wispr bind`)' },
  'listen-failed': {
    means: 'the port is in use, or cannot be listened on, as those below 1024 by ordinary users',
    remedy: 'see the message, or choose another port with `--port`',
  },
  'too-many-requests': { means: 'five wrong passphrases in a row', remedy: 'wait ten seconds, and try again' },
  'parent-proxy-unreachable': {
    means: 'the parent proxy cannot be reached, does not speak HTTP, or refuses name and password',
    remedy:
      'start it, or check its address; with a password, write http://NAME:PASSWORD@HOST:PORT into a file for `--parent-proxy-file`',
  },
  'read-in-browser': {
    means: 'the site has no key server: it is read in a browser, and no Reader can be connected with it',
    remedy: 'open the link of the invitation in a browser',
  },
  'link-malformed': {
    means: 'not the whole link of an invitation: its code or its address is missing or malformed',
    remedy: 'copy it whole, between quotes',
  },
} as const satisfies ErrorCatalogue;

export type ReaderErrorCode = keyof typeof READER_ERRORS | DiskFullCode;

/** The reader's side could not do what it was asked; nothing was released, and nothing half changed. */
export class ReaderError extends fileErrorClass(READER_ERRORS) {}

/** Returns what a reader can do about an error with this code, of whichever layer: Markdown. */
export function readerRemedy(code: string, fields?: ErrorFields): string | undefined {
  const all = [READER_ERRORS, DISK_FULL, READING_ERRORS, OBJECT_ERRORS, KEY_ERRORS, CHANNEL_ERRORS, PUBLICATION_ERRORS];
  return all.map((catalogue) => remedyFor(catalogue, code, fields)).find((remedy) => remedy !== undefined);
}
