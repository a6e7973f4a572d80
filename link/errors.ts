import type { ErrorCatalogue } from '../core/errors.ts';
import { fileErrorClass } from '../node-support/disk-full.ts';

/** Errors that stop a relay from starting. A running relay at worst closes a connection. */
export const LINK_ERRORS = {
  'link-argument': {
    means: 'an address or a destination that is none',
    remedy: 'write it as the message says; `wispr link {side} --help` has an example',
  },
  'link-fill': {
    means: 'a file of `--fill` is no chain of certificates, or names no server',
    remedy: "give it files with one server's certificates each, its own first, in PEM",
  },
  'link-listen': {
    means: 'the relay cannot listen there',
    remedy: 'see the message, or choose another address with `--listen`',
  },
  'link-store': {
    means: 'the store of certificates is damaged, of another program or version, or cannot be opened',
    remedy: 'name another file with `--store`, in a folder that is there and can be written to: the relay learns anew',
  },
} as const satisfies ErrorCatalogue;

export class LinkError extends fileErrorClass(LINK_ERRORS) {}
