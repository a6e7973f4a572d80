import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../core/errors.ts';

/** What can go wrong at the key server, for its operator, a publisher or a reader. */
export const KEY_SERVER_ERRORS = {
  'config-missing': {
    means: 'there is no configuration where one was looked for, or the first one cannot be written',
    remedy: '`-c FILE`, or let `wispr keyserver` write one in a folder of its own',
  },
  'config-invalid': {
    means:
      'the configuration is malformed, incomplete, or would open the key server without TLS; the message names line, member or file',
    remedy: 'correct it (docs/configuration.md#keyserverjson); to try things out on this machine, `--dev`',
  },
  'listen-failed': {
    means: 'the address cannot be listened on, or another program does',
    remedy: 'stop the other program, or set `{member}` in the configuration',
  },
  'master-key-refused': {
    means:
      'the master key file is missing, malformed, readable for other users, or not that of this database, which was not touched',
    remedy: 'put back the copy that you keep, with `chmod 600`',
  },
  'database-refused': {
    means:
      'the database is missing, damaged, by another program or a newer wispr, or cannot be opened; it was not touched',
    remedy: 'put back a backup, update wispr, or set `data`; to start anew, move the master key away as well',
  },
  'row-unreadable': {
    means: 'a row of the database was altered, or moved from another row',
    remedy: 'put back a backup; find out who wrote to the database',
  },
  'argument-invalid': {
    means: 'a name, pattern, validity or file in the command is not possible, or does not exist',
    remedy:
      '`wispr admin list` shows names; names have letters, digits, spaces and `. _ @ + -`; patterns are like `2026-11-*`',
  },
  'bundle-foreign': {
    means:
      'the key bundle is by another publisher, from another workspace, or names another key server or reading site; nothing was changed',
    remedy: 'import the right one; make `"keyServer"` in `wispr.json` and the configuration of the key server agree',
  },
  'bundle-older': {
    means: 'a newer key bundle, or another one with the same serial, was imported before; nothing was changed',
    remedy:
      "import the newest. If this is the newest, the publisher's keys were put back from an older copy: `wispr publish --rekey SET` makes a newer one",
  },
  'publisher-key-changed': {
    means: 'the bundle is signed by another publisher key than the known or named one; nothing was changed',
    remedy: 'ask the publisher by another channel; if it is theirs, import with `--new-publisher-key {key}`',
  },
  'no-provider': {
    means: 'no key bundle was imported yet',
    remedy: 'tell the operator',
  },
  'code-refused': {
    means: 'the invitation code is mistyped, used, expired or unknown',
    remedy: 'copy it whole, or ask for a new invitation',
  },
  'stale-request': {
    means: 'the clocks of device and key server differ by more than five minutes',
    remedy: 'set the clock',
  },
  'request-refused': {
    means: 'no proof of possession of a device key of this key server, or the device means another publisher',
    remedy: 'connect again',
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
  'token-refused': {
    means: 'the publishing token is missing, wrong, expired or revoked',
    remedy: '`wispr admin token` at the key server',
  },
  'publication-older': {
    means: 'a higher publication is current; nothing was changed',
    remedy: 'publish again, which makes a higher one',
  },
  'publication-other': {
    means:
      'another publication of the same version is current, or lies at a push target: two copies of the workspace made one each',
    remedy: 'publish again from the right copy, which makes a higher one',
  },
  'timestamp-key-unusable': {
    means:
      'the publisher has handed over no timestamp key, or one that its root does not name or that cannot sign alone; nothing was signed',
    remedy: 'the publisher hands over a new bundle, and publishes again',
  },
  'clock-back': {
    means: 'the clock is more than 300 seconds behind the last timestamp; nothing was signed',
    remedy: 'set the clock of the key server',
  },
  'publication-not-there': {
    means:
      'a push target does not have the current publication or its roots, or has a newer root under which the timestamp is not good; it was not changed, and is tried again',
    remedy: '`wispr publish` to that target, or take it out of `push`',
  },
} as const satisfies ErrorCatalogue;

export type KeyServerErrorCode = keyof typeof KEY_SERVER_ERRORS;

/** The key server refuses. The message is for the operator; over the network only the code is sent. */
export class KeyServerError extends CodedError<KeyServerErrorCode> {
  constructor(code: KeyServerErrorCode, message: string, options?: CodedErrorOptions) {
    super(KEY_SERVER_ERRORS, code, message, options);
  }
}
