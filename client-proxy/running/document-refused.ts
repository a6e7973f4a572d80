/** What kept a document, or the rest of it, from being had. The doors' refusals say why; which address it was, a program that asks for several has to hear as well. */
import { CodedError } from '../../core/errors.ts';

export class DocumentRefused extends CodedError {
  /** After redirects that the publisher signed. */
  readonly address: string;
  /** The refusal's own sentence. */
  readonly reason: string;

  /** @param reason - in the place of the cause's own sentence */
  constructor(address: string, cause: CodedError, reason = cause.message) {
    super({}, cause.code, `${address}: ${reason}`, { cause });
    this.address = address;
    this.reason = reason;
  }
}
