import type { ErrorCatalogue } from '../core/errors.ts';
import { fileErrorClass } from '../node-support/disk-full.ts';

/** Errors that stop a relay from starting. A running relay at worst closes a connection. */
export const LINK_ERRORS = {
  'link-argument': {
    means: 'an address or a destination that is none',
    remedy: 'write it as the message says; `wispr link near --help` has an example',
  },
  'link-fill': {
    means: 'a file of `--fill` is no chain of certificates, or names no server',
    remedy: "write a server's certificates into it, its own first, in PEM",
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

export class LinkError extends fileErrorClass(LINK_ERRORS) {}
