/** Finds lines of a text. Offsets that come in order are counted once. */
export class Lines {
  readonly #text: string;
  #offset = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  /** The line at `offset`; the first is 1. */
  at(offset: number): number {
    if (offset < this.#offset) [this.#offset, this.#line] = [0, 1];
    for (let end = this.#text.indexOf('\n', this.#offset); end >= 0 && end < offset; ) {
      this.#line++;
      this.#offset = end + 1;
      end = this.#text.indexOf('\n', this.#offset);
    }
    return this.#line;
  }
}
