import type { ErrorCatalogue } from '../../core/errors.ts';
import { fileErrorClass } from '../../node-support/disk-full.ts';

/** Errors that stop `wispr httpcrypt serve` from starting. */
export const HTTPCRYPT_ERRORS = {
  'httpcrypt-key': {
    means: 'the file of the channel key cannot be read or written, or has something else in it',
    remedy: 'check {file}, or name another file: another channel key makes another endpoint',
  },
  'httpcrypt-zone': {
    means: 'the file of the zone cannot be written',
    remedy: 'name another one with `--zone`, or leave it out: then clients ask the endpoint for its key',
  },
  'httpcrypt-listen': {
    means: 'nothing can listen there',
    remedy: 'see the message, or choose another address with `--listen`',
  },
} as const satisfies ErrorCatalogue;

export class HttpcryptError extends fileErrorClass(HTTPCRYPT_ERRORS) {}
