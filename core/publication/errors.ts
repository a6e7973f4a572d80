import { CodedError, type CodedErrorOptions } from '../errors.ts';

/** What can be wrong with the publication of a site: docs/spec/publication.md, "Reading". docs/errors.md documents each. */
export type PublicationErrorCode =
  | 'metadata-too-large'
  | 'metadata-malformed'
  | 'metadata-signature'
  | 'metadata-mismatch'
  | 'metadata-rollback'
  | 'metadata-expired'
  | 'metadata-missing'
  | 'root-unexpected'
  | 'publication-expired'
  | 'publication-withdrawn'
  | 'clock-behind'
  | 'settings-malformed'
  | 'head-unexpected';

/** A publication, or a part of it, was refused. What was trusted before is untouched. */
export class PublicationError extends CodedError<PublicationErrorCode> {
  constructor(code: PublicationErrorCode, message: string, options?: CodedErrorOptions) {
    super(code, message, options);
  }
}
