/**
 * Bodies whose `Content-Length` has spaces behind it, which are no part of it (RFC 9110 section 5.5). undici (8.12) counts each as a digit, and so
 * finds fault with the length just when all has come: such a body is counted here as well. Where it ends is up to llhttp, which reads the length right.
 */

/** Counts what is yet to come of a body. */
export class PaddedLength {
  #left: number;

  private constructor(length: number) {
    this.#left = length;
  }

  /** @param field - `Content-Length`, as it came. @returns `undefined` for one that undici reads right, and for what is none */
  static of(field: string | readonly string[] | undefined): PaddedLength | undefined {
    if (typeof field !== 'string' || !field.endsWith(' ')) return undefined;
    const [, digits] = /^[ \t]*(\d{1,15}) +$/.exec(field) ?? [];
    return digits === undefined ? undefined : new PaddedLength(Number(digits));
  }

  take(piece: Uint8Array): void {
    this.#left -= piece.length;
  }

  /** Whether exactly as much has come as the length says: then no error makes it less. */
  get isWhole(): boolean {
    return this.#left === 0;
  }
}
