import { type ErrorCatalogue, errorClass } from '../errors.ts';

/** Errors in the publication of a site: docs/spec/publication.md, "Reading". docs/generated/errors.md documents each. */
export const PUBLICATION_ERRORS = {
  'metadata-too-large': {
    step: 'P1',
    means: 'a file of the publication is longer than it may be',
    remedy: 'try again later; tell the publisher',
  },
  'metadata-malformed': {
    step: 'P2, P3, P11',
    means: 'a file of the publication is malformed',
    remedy: 'tell the publisher',
  },
  'metadata-signature': {
    step: 'P2',
    means: "too few of a role's keys have signed its file",
    remedy: 'do not trust it; tell the publisher',
  },
  'metadata-mismatch': {
    step: 'P4',
    means: 'a file is not the one that the publication names: changed, or mixed with another publication',
    remedy: 'try again later',
  },
  'metadata-rollback': {
    step: 'P5',
    means: 'the host offers an older publication than the one that was seen before',
    remedy: 'try again later; do not trust the host',
  },
  'metadata-expired': {
    step: 'P6',
    means: 'the metadata of a role have expired; the message shows the clock',
    remedy: 'check the clock; publishers: `wispr keys renew`, then `wispr publish`',
  },
  'metadata-missing': {
    means: 'no host has a file of the publication',
    remedy: 'try again later',
  },
  'root-unexpected': {
    means: "the site's first root is another publisher's",
    remedy: 'do not trust it; if the publisher announced a new root, connect again',
  },
  'publication-expired': {
    step: 'P7',
    means: 'the publication has not been confirmed for too long',
    remedy: 'check the clock; tell the publisher',
  },
  'publication-withdrawn': {
    step: 'P9',
    means: "the publisher withdrew the site's current publication",
    remedy: 'wait for the next one; publishers: change what was wrong, and publish that',
  },
  'clock-off': {
    step: 'P8',
    means: "the publication was confirmed in the future: this clock or the signer's is wrong",
    remedy: 'set the clock of this machine',
  },
  'settings-malformed': {
    means: 'the site settings are malformed, or for a newer wispr',
    remedy: 'tell the publisher',
  },
} as const satisfies ErrorCatalogue;

export type PublicationErrorCode = keyof typeof PUBLICATION_ERRORS;

/** A publication, or a part of it, was refused. What was trusted before is untouched. */
export class PublicationError extends errorClass(PUBLICATION_ERRORS) {}

/** @returns `undefined` for what is not good */
export async function ifGood<Role>(verify: () => Role | Promise<Role>): Promise<Role | undefined> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
