/** Meaning of a layer's errors and what to do about them, by code. docs/generated/errors.md is generated from these. */
export type ErrorCatalogue = Readonly<Record<string, ErrorEntry>>;

/** Sentences in Markdown without a full stop: code between backticks, other pages as `docs/keys.md`. */
export interface ErrorEntry {
  readonly means: string;
  /** Advice on what to do. `{file}` stands for the field `file` of the error. */
  readonly remedy: string;
  /** The verification steps of the specification that fail with this code, such as `W1` or `2, 4`. */
  readonly step?: string;
}

/** Remedies by code; a code that is in no catalogue, such as `usage`, may have none. */
type Remedies = Readonly<Record<string, Partial<ErrorEntry>>>;

export interface CodedErrorOptions extends ErrorOptions {
  /** Values that the remedy of its code names: target, file, version … */
  readonly fields?: ErrorFields;
  /** Tells whether the fault lies in what a person typed: a word that cannot be what it stands for, the name of a file that is not there. */
  readonly typed?: boolean;
}

export type ErrorFields = Readonly<Record<string, string | number>>;

/**
 * The base of every layer's error class: a code of the layer's catalogue that callers and tests look at, a sentence for people,
 * and the cause. Each layer derives its own class, so that `catch` can tell a refused object from a refused key.
 */
export abstract class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly fields: ErrorFields;
  /** Advice on what to do, in Markdown. An error that wraps another of the same code, to say where it happened, has its remedy. */
  readonly remedy: string | undefined;
  /** The command line makes it a matter of usage. */
  readonly typed: boolean;

  /** @param options - with the `cause` that is kept for debugging */
  protected constructor(catalogue: Remedies, code: Code, message: string, options: CodedErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.fields = options.fields ?? {};
    const { cause } = options;
    this.remedy = remedyFor(catalogue, code, this.fields) ?? (cause instanceof CodedError ? cause.remedy : undefined);
    this.typed = options.typed ?? false;
    this.name = new.target.name;
  }
}

/** The class that a layer's error class derives from: errors with the codes of its catalogue. */
export function errorClass<Catalogue extends ErrorCatalogue>(catalogue: Catalogue) {
  type Code = keyof Catalogue & string;
  return class extends CodedError<Code> {
    constructor(code: Code, message: string, options?: CodedErrorOptions) {
      super(catalogue, code, message, options);
    }
  };
}

/**
 * Returns what to do about errors with `code`. A placeholder without a field stands in capitals, as in usage texts: `FILE`.
 *
 * @returns Markdown; `undefined` where the catalogue has no such code, or no remedy for it
 */
export function remedyFor(catalogue: Remedies, code: string, fields: ErrorFields = {}): string | undefined {
  if (!Object.hasOwn(catalogue, code)) return undefined;
  return catalogue[code]?.remedy?.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(fields[name] ?? name.toUpperCase()),
  );
}

/** The text of anything thrown, for a message that says why. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors.at(-1));
  return error instanceof Error ? error.message || error.name : String(error);
}
