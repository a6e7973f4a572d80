import { type ErrorCatalogue, errorClass } from '../errors.ts';

/** The checks of docs/spec/keys.md that can fail. */
export const KEY_ERRORS = {
  'wrapped-key-invalid': {
    step: 'W1, W2, W3, W4',
    means: 'a wrapped key is malformed, altered, for another device, or not the key of its id; no copy is kept',
    remedy: 'try again in a few minutes; if it stays so, connect again with a new invitation (`wispr bind`)',
  },
  'key-not-valid-now': {
    step: 'W5',
    means: 'it is valid at another time',
    remedy: 'check the clock of this machine; else renew your subscription with the publisher',
  },
  'envelope-malformed': {
    step: 'E1',
    means: 'the publication has a key envelope that is too long, malformed, or of another period; no key of it is used',
    remedy: 'nothing: the Reader asks the key server',
  },
  'binding-malformed': {
    means: 'a binding request or answer is malformed, altered, or made for another device or request',
    remedy: 'try another network; else update the Reader',
  },
  'request-malformed': {
    means: 'a key request is malformed, or does not prove its device',
    remedy: 'update the Reader',
  },
  'answer-unreadable': {
    means: 'the answer is not one to this request',
    remedy: 'try again in a few minutes; if it stays so, connect again with a new invitation (`wispr bind`)',
  },
  'descriptor-malformed': {
    step: 'D1, D2',
    means: 'the provider descriptor is malformed, or not signed by its key',
    remedy: 'do not trust it; tell the publisher',
  },
  'descriptor-expired': {
    step: 'D3',
    means: 'the provider descriptor is out of date',
    remedy: 'check the connection and the clock of this machine',
  },
  'host-proof': {
    step: 'D5',
    means: 'the host does not name this publisher, or cannot prove to be the host (TLS)',
    remedy:
      'do not connect; on your own site, put `{line}` at `{url}` or into TXT `_wispr.{site}`; to develop: `--trust-site {site}`',
  },
  'bundle-malformed': {
    step: 'B1, B2, B4',
    means: 'a key bundle is damaged, not signed by its publisher, or does not decrypt to keys',
    remedy: 'do not import it; the publisher runs `wispr protect` again and hands over the new keys.bundle',
  },
  'bundle-recipient': {
    step: 'B3',
    means: 'a key bundle is for another key server, or its key file is wrong',
    remedy: "give the publisher this key server's keyserver.pub, and protect again",
  },
  'hand-over-refused': {
    step: 'V1, V2, V3, V4',
    means: 'keys that arrived in the browser were not asked for, not sealed for it, or altered; none was stored',
    remedy: 'open the page once more',
  },
  'key-file-malformed': {
    step: 'F1, F2, F3, F4, F5, F6',
    means:
      'a key file of an invitation is damaged, altered, too long, or of another invitation or site; no key of it was used',
    remedy: 'open the page once more; the publisher runs `wispr publish` again',
  },
  'roaming-malformed': {
    step: 'R1, R2, R3, R5, R6',
    means: 'not a roaming file, damaged, or made by a newer wispr',
    remedy: 'fetch it again, whole; or update wispr',
  },
  'roaming-unreadable': {
    step: 'R4',
    means: 'the words are wrong, or the file was changed',
    remedy: 'compare the words; after `--new-words`, older files still need the older ones',
  },
} as const satisfies ErrorCatalogue;

export type KeyErrorCode = keyof typeof KEY_ERRORS;

/** A key, or a message about keys, failed a check; nothing of it was used. */
export class KeyError extends errorClass(KEY_ERRORS) {}
