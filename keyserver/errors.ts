import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../core/errors.ts';

/** What can go wrong at the key server, for its operator or for whoever asks it. */
export const KEY_SERVER_ERRORS = {
  'config-missing': {
    means: 'there is no configuration where one was looked for',
    remedy: '`-c FILE`, or let `wispr keyserver` write one',
  },
  'config-invalid': {
    means: 'the configuration says what it cannot say; the message names line or member',
    remedy: 'correct it (docs/configuration.md#keyserverjson)',
  },
  'config-unwritable': {
    means: 'the first configuration cannot be written',
    remedy: 'check the folder',
  },
  'origin-missing': {
    means: 'no `https` origin is configured',
    remedy: 'set `origin` and `reading.origin`',
  },
  'plain-http-refused': {
    means:
      'there is no certificate and no proxy in front, `--dev` would listen beyond this machine, or `behindProxy` at a public address',
    remedy: 'set `tls` or `behindProxy`, and `listen.host` to 127.0.0.1',
  },
  'certificate-missing': {
    means: 'a certificate or key file cannot be read',
    remedy: 'set `tls`',
  },
  'certificate-mismatch': {
    means: 'certificate, key and origin do not belong together',
    remedy: 'set `tls` and `origin`',
  },
  'certificate-expired': {
    means: 'the certificate has expired',
    remedy: 'renew it',
  },
  'port-in-use': {
    means: 'another program listens there',
    remedy: 'stop it, or set another port',
  },
  'listen-failed': {
    means: 'the address cannot be listened on',
    remedy: 'set `listen`',
  },
  'master-key-missing': {
    means: 'the file of the master key is not there; the database was not touched',
    remedy: 'put back the copy that you keep',
  },
  'master-key-malformed': {
    means: 'it is not a master key file',
    remedy: 'put back the copy of the master key that you keep',
  },
  'master-key-exposed': {
    means: 'other users of the machine may read it',
    remedy: '`chmod 600`',
  },
  'master-key-wrong': {
    means: 'it is not the key of this database, which was not touched',
    remedy: 'put back the right one',
  },
  'database-missing': {
    means: 'there is a master key without its database: starting with an empty one would hide a loss',
    remedy: 'put back a backup, or move the master key away to start anew',
  },
  'database-damaged': {
    means: "the database does not pass SQLite's check; it was not touched",
    remedy: 'put back a backup',
  },
  'database-foreign': {
    means: 'it is a database of another program',
    remedy: 'set `data`',
  },
  'database-newer': {
    means: 'it was written by a newer wispr; it was not touched',
    remedy: 'update',
  },
  'database-unavailable': {
    means: 'it cannot be opened or written, or was never made',
    remedy: 'see the message',
  },
  'row-unreadable': {
    means: 'a row does not decrypt: altered, or moved from another row',
    remedy: 'put back a backup; find out who wrote to the database',
  },
  'bundle-missing': {
    means: 'the key bundle cannot be read',
    remedy: 'check the path',
  },
  'bundle-foreign': {
    means: 'it is by another publisher, or from another workspace, or its parts do not belong together',
    remedy:
      'import the right one; where `wispr publish` is told so, see that `"keyServer"` in `wispr.json` and the token are of this site',
  },
  'bundle-older': {
    means: 'a newer bundle was imported before',
    remedy:
      "import the newest. If this is the newest, the publisher's keys were put back from an older copy: the publisher brings what is served into `out` (docs/publish.md#when-the-disk-is-lost) and runs `wispr publish`; if it is refused again, `wispr publish --rekey SET`",
  },
  'bundle-conflict': {
    means: 'two different bundles have one serial: the workspace was copied, or put back from an older copy',
    remedy:
      'the same as with `bundle-older`: `wispr publish --rekey SET` makes a bundle that is above all others, and a new key for that set',
  },
  'bundle-elsewhere': {
    means: 'its descriptor names another key server or reading site',
    remedy: 'make the two configurations agree',
  },
  'publisher-key-changed': {
    means: 'it is signed by another publisher key than the one that is known, or than the one of `--new-publisher-key`',
    remedy: 'ask the publisher by another way; if it is theirs, import with `--new-publisher-key`',
  },
  'no-provider': {
    means: 'no key bundle was imported yet',
    remedy: 'tell the operator',
  },
  'subscriber-name': {
    means: 'that cannot be the name of a subscriber',
    remedy: 'letters, digits, spaces, `. _ @ + -`',
  },
  'subscriber-unknown': {
    means: 'there is no such subscriber',
    remedy: '`wispr admin list`',
  },
  'set-pattern': {
    means: 'that cannot be a pattern of set names',
    remedy: 'like `2026-11-*`',
  },
  validity: {
    means: 'an end in the past, or days that are no whole number from 1 to 90, for a token to 3650',
    remedy: 'name a day in the future, like --until 2099-06-30',
  },
  'publisher-unknown': {
    means: 'the device means another publisher than this key server serves',
    remedy: 'connect again',
  },
  'code-refused': {
    means: 'the invitation code is not good, for whatever reason',
    remedy: 'copy it whole, or ask for a new invitation',
  },
  'stale-request': {
    means: 'the clocks of device and key server differ by more than five minutes',
    remedy: 'set the clock',
  },
  'request-refused': {
    means: 'no proof of possession of a device key; also where there is no such device',
    remedy: 'connect again',
  },
  'password-parameters': {
    means: 'a stored password hash asks for more than is ever made; it was not computed',
    remedy: 'put back a backup',
  },
  busy: {
    means: 'too many people are signing in at this moment',
    remedy: 'try again in a minute',
  },
  'not-signed-in': {
    means: 'the document is for subscribers',
    remedy: 'sign in',
  },
  'not-entitled': {
    means: 'its set was not granted to this subscriber',
    remedy: 'ask the publisher',
  },
  lapsed: {
    means: 'the grant has ended',
    remedy: 'renew it',
  },
  revoked: {
    means: 'the publisher has withdrawn the access',
    remedy: 'ask for a new invitation',
  },
  'foreign-request': {
    means: 'a form that no page of this site has sent',
    remedy: 'load the page again',
  },
  'too-many-requests': {
    means: 'too many attempts',
    remedy: 'wait a quarter of an hour',
  },
  'token-name': {
    means: 'that cannot be the name of a publishing token, or there is one of this name',
    remedy: 'another `--name`, or `--revoke` the one that is there',
  },
  'token-unknown': {
    means: 'there is no such token',
    remedy: '`wispr admin token --list`',
  },
  'token-refused': {
    means: 'no publishing token, or one that is wrong, has expired or was revoked',
    remedy: '`wispr admin token` at the key server',
  },
  'publication-older': {
    means: 'a higher publication is current; nothing was changed',
    remedy: 'publish again, which makes a higher one',
  },
  'publication-other': {
    means:
      'another publication of the same version is current, or lies at a push target: two copies of the workspace made one each; nothing was changed',
    remedy: 'publish again from the right copy, which makes a higher one',
  },
  'timestamp-key-unusable': {
    means:
      'the publisher has handed over no timestamp key, or one that its root does not name or that cannot sign alone; nothing was signed',
    remedy: 'the publisher hands over a new bundle, and publishes again',
  },
  'clock-back': {
    means: 'the clock is more than 300 seconds behind the last timestamp; nothing was signed',
    remedy: 'set the clock; docs/keyserver.md, "The publication"',
  },
  'publication-not-there': {
    means:
      'a directory or bucket that timestamps are pushed to does not have the publication that the key server was told of last, or there is no such bucket; what is there stays, and it is tried again',
    remedy:
      'publish it there as well, or wait for the copy; else take that target out of `push`; docs/keyserver.md, "The publication"',
  },
  'root-behind': {
    means:
      'where timestamps are pushed to lies a root that follows the one here and was not handed over, and by it the timestamp here is not good; what is there stays, and it is tried again',
    remedy: '`wispr publish` with its token; after a backup was put back, too',
  },
} as const satisfies ErrorCatalogue;

export type KeyServerErrorCode = keyof typeof KEY_SERVER_ERRORS;

/** The key server refuses: its message is for the operator; over the network only the code is told. */
export class KeyServerError extends CodedError<KeyServerErrorCode> {
  constructor(code: KeyServerErrorCode, message: string, options?: CodedErrorOptions) {
    super(KEY_SERVER_ERRORS, code, message, options);
  }
}
