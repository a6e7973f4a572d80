import { reasonOf } from '../core/errors.ts';
import { ReadingError } from './errors.ts';

/** Facts of the publication that has no such document. Times in seconds since 1970. */
export interface PublicationAtHand {
  readonly version: number;
  /** Time of the last confirmation. */
  readonly confirmed: number;
  readonly now: number;
}

/** A document is missing in the publication at hand; where no host could be asked for a newer one, nothing more is known. */
export class MissingSoFar extends ReadingError {
  readonly atHand: PublicationAtHand;

  /** @param failure - what the look for a newer one met; `undefined` while that look goes on */
  constructor(atHand: PublicationAtHand, failure: unknown) {
    super('no-such-document', missingSoFar(atHand.version, failure), { cause: failure });
    this.atHand = atHand;
  }
}

/** The same as one sentence. */
export function missingSoFar(version: number | undefined, failure: unknown): string {
  const look =
    failure === undefined ? 'still looking for a newer one' : `could not look for a newer one: ${reasonOf(failure)}`;
  return `publication ${version} has no such document; ${look}`;
}
