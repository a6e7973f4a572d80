/**
 * What a reader can do where `wispr fetch` or `wispr sync` could not have a document. The pages of the Reader advise the same for a browser, and
 * hints.ts other people: the publisher who inspects a file of their own can copy it again, the reader cannot.
 */
import { CodedError } from '../core/errors.ts';
import { hintFor } from './hints.ts';

type Hints = Readonly<Record<string, string>>;

const CHANGED =
  'it was changed or mixed up on its way: try again, or in another network; if it stays so, tell the publisher this code';
const CUT = 'try again; if it stays so, tell the publisher this code';
const LATER = 'try again in a few minutes; if it stays so, tell the publisher this code';
const CONFIRMED = 'check the connection, and the clock of this machine; if it stays so, tell the publisher this code';
const NO_ACCESS = 'if it should be yours to read, ask the publisher; after subscribing, wait a minute and try again';
const KEY_TROUBLE =
  'try again in a few minutes; if it stays so, connect again with a new invitation: wispr bind "URL#CODE"';
const KEY_TIME = 'check the clock of this machine; else renew your subscription with the publisher';

/** By code; docs/errors.md says more about each. */
const READING: Hints = {
  'object-unrecognised': CHANGED,
  'head-length': CHANGED,
  'header-not-canonical': CHANGED,
  'header-invalid': CHANGED,
  'publisher-unexpected': CHANGED,
  'signature-invalid': CHANGED,
  'digest-list': CHANGED,
  'site-mismatch': CHANGED,
  'path-mismatch': CHANGED,
  commitment: CHANGED,
  'block-digest': CHANGED,
  'chunk-tag': CHANGED,
  'metadata-invalid': CHANGED,
  'object-trailing': CHANGED,
  'carrier-malformed': CHANGED,
  'head-unexpected': CHANGED,
  'metadata-too-large': CHANGED,
  'metadata-malformed': CHANGED,
  'metadata-signature': CHANGED,
  'metadata-mismatch': CHANGED,
  'metadata-rollback': CHANGED,
  'root-unexpected': CHANGED,
  'object-version': 'update wispr: the publisher uses a format that is newer than this version',
  'settings-malformed': 'update wispr; if that changes nothing, tell the publisher this code',
  'object-truncated': CUT,
  'object-missing': LATER,
  'metadata-missing': LATER,
  'content-host-answer': LATER,
  'publication-withdrawn': 'wait until the publisher has published again',
  'metadata-expired': CONFIRMED,
  'publication-expired': CONFIRMED,
  'descriptor-expired': CONFIRMED,
  'site-withdrawn': 'ask the publisher whether it still publishes this site',
  'path-refused': 'check the address for doubled slashes, dots and odd characters',
  'no-such-document': 'check the address',
  'key-missing': NO_ACCESS,
  'not-entitled': NO_ACCESS,
  'subscription-lapsed': 'renew the subscription with the publisher',
  'device-revoked': 'ask the publisher for a new invitation, and connect with it: wispr bind "URL#CODE"',
  'key-not-valid-now': KEY_TIME,
  'wrapped-key-not-valid-now': KEY_TIME,
  'key-id-mismatch': KEY_TROUBLE,
  'wrapped-key-malformed': KEY_TROUBLE,
  'wrapped-key-foreign': KEY_TROUBLE,
  'wrapped-key-tag': KEY_TROUBLE,
  'wrapped-key-id-mismatch': KEY_TROUBLE,
  'answer-unreadable': KEY_TROUBLE,
  'key-server-answer': LATER,
  'key-server-certificate':
    'check the clock of this machine, or try another network; if it stays so, tell the publisher',
  'key-server-unreachable':
    'check the connection, and try again: the key is not on this machine yet, and only the key server gives it',
  'clock-off': 'set the clock of this machine, and try again',
};

/** Where "wispr sync" itself is what was typed. */
const SYNC: Hints = {
  'content-host-unreachable': 'check the connection, and run "wispr sync" again; what is here already stays',
  'key-server-unreachable': 'check the connection, and run "wispr sync" again; what is here already stays',
};

/** By the command that was typed. */
export const READING_HINTS: Readonly<Record<'fetch' | 'sync', Hints>> = {
  fetch: READING,
  sync: { ...READING, ...SYNC },
};

/** What to do about an error with this code, if there is anything to say. */
export function readingHint(command: 'fetch' | 'sync', code: string): string | undefined {
  return ownHint(command, code) ?? hintFor(code);
}

function ownHint(command: 'fetch' | 'sync', code: string): string | undefined {
  const hints = READING_HINTS[command];
  return Object.hasOwn(hints, code) ? hints[code] : undefined;
}

/** An error of the layers below in the words of a command: code, cause and kind stay. */
class Retold extends CodedError {
  constructor(cause: CodedError, message: string, hint: string | undefined) {
    super(cause.code, message, { cause, typed: cause.typed, ...(hint !== undefined && { hint }) });
  }
}

/**
 * What kept a command from reading, with what its reader can do about it.
 *
 * @param message - in the place of the error's own
 * @returns what is to be thrown; what nobody foresaw as it is
 */
export function withReadingHint(command: 'fetch' | 'sync', error: unknown, message?: string): unknown {
  if (!(error instanceof CodedError)) return error;
  return new Retold(error, message ?? error.message, ownHint(command, error.code) ?? error.hint ?? hintFor(error.code));
}
