/**
 * The base of every layer's error class: a closed union of codes that callers and tests look at, a sentence for people, perhaps
 * what they can do about it, and the cause. Each layer derives its own class, so that `catch` can tell a refused object from a
 * refused key. Every code is documented in docs/errors.md, and a test holds the two together.
 */
export abstract class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  /** What to do about it, where the message alone does not say. */
  readonly hint: string | undefined;

  /** @param options - `hint`, and the `cause` that is kept for whoever debugs */
  protected constructor(code: Code, message: string, options: ErrorOptions & { hint?: string } = {}) {
    super(message, options);
    this.code = code;
    this.hint = options.hint;
    this.name = new.target.name;
  }
}

/** The text of anything thrown, for a message that says why. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors.at(-1));
  return error instanceof Error ? error.message || error.name : String(error);
}
