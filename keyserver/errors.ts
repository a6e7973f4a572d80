import type { ErrorCatalogue } from '../core/errors.ts';
import { type DiskFullCode, fileErrorClass } from '../node-support/disk-full.ts';
import { describeUnwritable } from '../node-support/system-error.ts';

/** Errors at the key server, for its operator, a publisher or a reader. */
export const KEY_SERVER_ERRORS = {
  'listen-failed': {
    means: 'the address cannot be listened on, or another program does',
    remedy: 'see the message, or set `{member}` in the configuration',
  },
  'argument-invalid': {
    means: 'a name, pattern, validity or file in the command is not possible',
    remedy: 'correct it; with `--help`, the command says what it takes',
  },
  'name-refused': {
    means: 'the name cannot be that of a subscriber: it is too long, or has characters that no name can have',
    remedy: 'take another one, such as the mail address',
  },
  'no-such-plan': {
    means: 'there is no plan of this name',
    remedy: '`wispr admin plan NAME --sets PATTERNS` makes it',
  },
  'mail-off': {
    means: 'this key server sends no mail',
    remedy: 'set `mail` in its configuration (docs/configuration.md#keyserverjson)',
  },
  'no-such-subscriber': {
    means: 'the API was asked about a name that no subscriber has',
    remedy: 'begin a subscription for it, which makes the subscriber',
  },
  'bundle-foreign': {
    means: 'the bundle is of another publisher, workspace, key server or reading site',
    remedy: 'import the right one; compare `keyServer` in `wispr.json`',
  },
  'bundle-older': {
    means: 'a newer bundle, or another one with the same serial, was imported before',
    remedy: 'import the newest; after a restored backup: `wispr publish --rekey SET`',
  },
  'publisher-key-changed': {
    means: 'the bundle is signed by another publisher key than the known one',
    remedy: 'ask the publisher over another channel, then import with `--new-publisher-key {key}`',
  },
  'no-provider': {
    means: 'no key bundle was imported yet',
    remedy: 'tell the operator',
  },
  'code-refused': {
    means: 'the invitation code is mistyped, used, expired or unknown',
    remedy: 'copy it whole, or ask for a new invitation',
  },
  'seats-taken': {
    means: 'all seats of the group that the invitation is for are taken',
    remedy: 'ask who gave the invitation: `wispr invite GROUP --seats N` adds some, and removing a member frees one',
  },
  'too-many-devices': {
    means: 'the subscriber has as many Readers as `limits.devices` allows',
    remedy: 'remove one in the account of the reading site, or with `wispr admin device`; the invitation stays good',
  },
  'stale-request': {
    means: 'the clocks of device and key server differ by more than five minutes',
    remedy: 'set the clock',
  },
  'request-refused': {
    means: 'no proof of possession of a device key of this key server',
    remedy: 'connect again',
  },
  'package-missing': {
    means: 'this installation of wispr has no client for PostgreSQL',
    remedy: '`npm install -g {packages}`; without `-g` where wispr was installed without it',
  },
  busy: {
    means: 'too many people are signing in at this moment, or too many mails wait',
    remedy: 'try again in a minute',
  },
  'mail-failed': {
    means: 'the mail server cannot be reached, or does not take the mail',
    remedy: 'check `mail` in the configuration, and the log of the mail server',
  },
  'mail-refused': {
    means: 'the mail server says that there is no such address',
    remedy: 'correct it with `wispr admin rename NAME NEW`',
  },
  'not-signed-in': {
    means: 'the document is for subscribers',
    remedy: 'sign in',
  },
  'gift-refused': {
    means: 'the link of a page that was given away is used up, expired, taken back, or of another page',
    remedy: 'ask who gave it for a new one',
  },
  'entry-refused': {
    means: 'signing in took too long, was sent twice, or the browser keeps no cookies',
    remedy: 'open the page again, with cookies permitted',
  },
  'passkey-refused': {
    means: 'the passkey is unknown or was removed, its signature is wrong, or the attempt took more than five minutes',
    remedy: 'try again, or sign in another way',
  },
  'openid-cancelled': {
    means: 'the person did not sign in at the OpenID provider',
    remedy: 'try again, or sign in another way',
  },
  'openid-unreachable': {
    means: 'the OpenID provider does not answer',
    remedy: 'try again later',
  },
  'openid-unusable': {
    means: 'the OpenID provider calls itself otherwise than `openid.issuer`, or refuses the client or its secret',
    remedy: 'the operator compares `openid` with what the provider says, which `wispr doctor` and the log show',
  },
  'openid-clock-off': {
    means: 'by the clock of the key server, the answer of the OpenID provider is too old or from the future',
    remedy: 'the operator sets the clock',
  },
  'openid-refused': {
    means: "the OpenID provider's answer was not asked for by this browser, was used before, or fails a check",
    remedy: 'try again; the operator finds the reason in the log',
  },
  'foreign-worker': {
    means: 'a page of the site tried to install a service worker',
    remedy: 'leave that script out of the site',
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
  'token-refused': {
    means: 'the publishing token is missing, wrong, expired or revoked',
    remedy: '`wispr admin token` at the key server',
  },
  'publication-older': {
    means: 'a higher publication is current; nothing was changed',
    remedy: 'publish again, which makes a higher one',
  },
  'publication-other': {
    means: 'another publication has the same version: two copies of the workspace',
    remedy: 'publish again from the right copy',
  },
  'timestamp-key-unusable': {
    means: "the timestamp key is missing, or not one of the root's; nothing was signed",
    remedy: 'the publisher publishes again, with a new bundle',
  },
  'clock-off': {
    means:
      'the clock is more than 300 seconds behind the last timestamp: it is wrong, or it was ahead when that was signed',
    remedy:
      'set the clock of the key server; if it is right, the publisher runs `wispr keys rotate timestamp --publish`',
  },
  'configuration-missing': {
    means: 'there is no `keyserver.json` where the command looked for it',
    remedy: 'run this in the directory of the key server, or name it with `-c FILE`; `wispr keyserver` makes one',
  },
  'configuration-invalid': {
    means:
      'the configuration is malformed, or a file that it names is not there; the message names line, member or file',
    remedy: 'correct it (docs/configuration.md#keyserverjson); to try it on one machine, `--dev`',
  },
  'database-away': {
    means: 'PostgreSQL does not answer, or is starting; a key server waits for it',
    remedy: 'start it, or correct the host in `database`',
  },
  'store-unusable': {
    means: 'the database is missing, damaged, altered or from a newer wispr; it was not touched',
    remedy: 'restore a backup, update wispr, or set `data` or `database`; find out who wrote to it',
  },
  'store-busy': {
    means: 'another program holds the database, for longer than the key server waits',
    remedy: 'end that program, which `fuser {file}` names, and try again',
  },
  'backup-unusable': {
    means: 'a daily copy cannot be restored: the database is damaged, or the master key is missing or another',
    remedy: 'put the master key back; or stop the key server, and restore the newest copy that is good',
  },
  'storage-key-refused': {
    means: 'the master key is missing, malformed, readable by others, or of another database',
    remedy: 'restore your copy, with `chmod 600`',
  },
  'cross-site': {
    means: 'a form that no page of this site has sent',
    remedy: 'load the page again',
  },
  'target-behind': {
    means: 'a push target lacks the current publication or root, or has a newer root',
    remedy: 'publish to that target, or remove it from `push`',
  },
  'too-many-requests': {
    means: 'too many requests from this address, or attempts for this name',
    remedy: 'wait a minute; after failed attempts a quarter of an hour',
  },
} as const satisfies ErrorCatalogue;

export type KeyServerErrorCode = keyof typeof KEY_SERVER_ERRORS | DiskFullCode;

/** The key server refuses. The message is for the operator; over the network only the code is sent. */
export class KeyServerError extends fileErrorClass(KEY_SERVER_ERRORS) {}

/** Refuses what was typed: it cannot be what it stands for. */
export function mistyped(message: string): KeyServerError {
  return new KeyServerError('argument-invalid', message, { typed: true });
}

/** Refuses what does not fit what there is here. */
export function unfit(message: string, cause?: unknown): KeyServerError {
  return new KeyServerError('argument-invalid', message, { cause });
}

/** Refuses the configuration, or a file that it names. */
export function misconfigured(message: string, cause?: unknown): KeyServerError {
  return new KeyServerError('configuration-invalid', message, { cause });
}

/** Writes a file that the configuration names. @throws KeyServerError `configuration-invalid`, `disk-full` */
export function writeNamed(file: string, write: () => unknown): void {
  try {
    write();
  } catch (cause) {
    throw misconfigured(describeUnwritable(file, cause), cause);
  }
}
