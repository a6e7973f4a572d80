import { type ErrorCatalogue, errorClass } from '../errors.ts';

/** The checks of docs/spec/protected-object.md, "Verification", that can fail. */
export const OBJECT_ERRORS = {
  'object-unrecognised': {
    step: '1',
    means: 'the host sent something else than a protected object',
    remedy: '`wispr inspect` reads `.protected` files; where a host sent this, try again, or from another network',
  },
  'object-version': {
    step: '1',
    means: 'made by a newer wispr than this one',
    remedy: 'update wispr: the publisher uses a format that is newer than this version',
  },
  'object-truncated': {
    step: '2, 4, 7, 11',
    means: 'the object ends too early',
    remedy: 'try again; if it stays so, tell the publisher this code',
  },
  'header-invalid': {
    step: '2, 3, 4',
    means: 'the header is too long, in another spelling, or not allowed by the format',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'publisher-unexpected': {
    step: '5',
    means: 'signed by another publisher than the one this site is bound to',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'signature-invalid': {
    step: '6',
    means: 'the publisher did not sign this',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'site-mismatch': {
    step: '8',
    means: 'the object belongs to another site',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'path-mismatch': {
    step: '9',
    means: 'the object belongs to another address of this site',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'key-missing': {
    step: '10',
    means: "there is no key for this document's set",
    remedy: 'ask the publisher for access; after subscribing, try again in a minute',
  },
  'key-not-valid-now': {
    step: '10',
    means: 'the key is valid at another time',
    remedy: 'check the clock of this machine; else renew your subscription with the publisher',
  },
  'key-id-mismatch': {
    step: '10',
    means: 'the key at hand is not the one named',
    remedy: 'try again in a few minutes; if it stays so, connect again with a new invitation (`wispr bind`)',
  },
  'block-digest': {
    step: '7, 12',
    means: 'a part was changed on the way',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'payload-invalid': {
    step: '13, 14, 15',
    means: "the content does not decrypt with the set's key, or its encrypted description is malformed",
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'object-trailing': {
    step: '10, 11',
    means: 'something follows the end of the object',
    remedy: 'try again, or from another network; if it stays so, tell the publisher this code',
  },
  'head-unexpected': {
    means: 'the object is not the one that the publication names',
    remedy: 'try again later; do not trust the host',
  },
} as const satisfies ErrorCatalogue;

export type ObjectErrorCode = keyof typeof OBJECT_ERRORS;

/** A protected object failed a check; nothing of the part that failed was released. */
export class ObjectError extends errorClass(OBJECT_ERRORS) {}
