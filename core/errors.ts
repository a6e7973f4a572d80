/**
 * The base of every layer's error class: a closed union of codes that callers and tests look at, a sentence for people,
 * and the cause. Each layer derives its own class, so that `catch` can tell a refused object from a refused key.
 * Every code is documented in docs/errors.md, and a test holds the two together.
 */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;

  protected constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}
