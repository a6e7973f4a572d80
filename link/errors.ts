import { CodedError, type CodedErrorOptions, type ErrorCatalogue } from '../core/errors.ts';

/** Errors that stop a relay from starting. A running relay at worst closes a connection. */
export const LINK_ERRORS = {
  'link-argument': {
    means: 'an address or a destination that is none',
    remedy: 'write it as the message says; `wispr link near --help` has an example',
  },
  'link-listen': {
    means: 'the relay cannot listen there',
    remedy: 'end the program that has the port, or choose another with `--listen`',
  },
  'link-store': {
    means: 'the store of certificates is damaged, of another program or version, or cannot be opened',
    remedy: 'check the directory, or remove {file}: the relay learns anew',
  },
} as const satisfies ErrorCatalogue;

export class LinkError extends CodedError<keyof typeof LINK_ERRORS> {
  constructor(code: keyof typeof LINK_ERRORS, message: string, options?: CodedErrorOptions) {
    super(LINK_ERRORS, code, message, options);
  }
}
