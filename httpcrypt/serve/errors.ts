import type { ErrorCatalogue } from '../../core/errors.ts';
import { fileErrorClass } from '../../node-support/disk-full.ts';

/** Errors that stop `wispr httpcrypt serve` from starting. */
export const HTTPCRYPT_ERRORS = {
  'httpcrypt-key': {
    means: 'the file of the channel key, or of the zone, cannot be read or written, or has something else in it',
    remedy: 'check {file}, or name another file: another channel key makes another endpoint',
  },
  'httpcrypt-listen': {
    means: 'nothing can listen there',
    remedy: 'end the program that has the port, or choose another with `--listen`',
  },
} as const satisfies ErrorCatalogue;

export class HttpcryptError extends fileErrorClass(HTTPCRYPT_ERRORS) {}
