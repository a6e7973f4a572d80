/** What an error carries besides its code and its sentence. */
export interface CodedErrorOptions extends ErrorOptions {
  /** What to do about it, where the message alone does not say. */
  readonly hint?: string;
  /** Whether it lies in what a person typed: a word that cannot be what it stands for, the name of a file that is not there. */
  readonly typed?: boolean;
}

/**
 * The base of every layer's error class: a closed union of codes that callers and tests look at, a sentence for people, perhaps
 * what they can do about it, and the cause. Each layer derives its own class, so that `catch` can tell a refused object from a
 * refused key. Every code is documented in docs/errors.md, and a test holds the two together.
 */
export abstract class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly hint: string | undefined;
  /** The command line makes it a matter of usage. */
  readonly typed: boolean;

  /** @param options - with the `cause` that is kept for whoever debugs */
  protected constructor(code: Code, message: string, options: CodedErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.hint = options.hint;
    this.typed = options.typed ?? false;
    this.name = new.target.name;
  }
}

/** The text of anything thrown, for a message that says why. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors.at(-1));
  return error instanceof Error ? error.message || error.name : String(error);
}
