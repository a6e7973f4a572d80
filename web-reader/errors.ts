import { type ErrorCatalogue, errorClass } from '../core/errors.ts';

/** Errors of the in-browser reader, besides those that `core/` names. */
export const WEB_READER_ERRORS = {
  'site-changed': {
    means: 'this address belongs to another site, or to another publisher, than at the first visit',
    remedy: 'tell the publisher; then sign out, which removes what this browser keeps, and open the page again',
  },
  'site-unavailable': {
    means: 'the reading site did not say which site is read here',
    remedy: 'check the connection, and try again',
  },
  'not-entitled': {
    means: "the subscription does not include the document's set",
    remedy: 'see what subscriptions there are, or ask the publisher',
  },
  lapsed: {
    means: 'the subscription has ended',
    remedy: 'renew it',
  },
  revoked: {
    means: 'the publisher has ended the access',
    remedy: 'ask for a new invitation',
  },
  'coding-unsupported': {
    means: 'this browser cannot undo the coding in which the document was published',
    remedy: 'use a newer browser, or the Reader',
  },
  'web-reader-failed': {
    means: 'a fault of the in-browser reader itself',
    remedy: 'try again; if it stays so, tell the publisher this code',
  },
} as const satisfies ErrorCatalogue;

/** The in-browser reader could not go on. Nothing of a document was released. */
export class WebReaderError extends errorClass(WEB_READER_ERRORS) {}
