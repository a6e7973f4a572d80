/** Finds lines of a text. Offsets that come in order are counted once. */
export class Lines {
  readonly #text: string;
  #line = 1;
  /** Where the line starts, and where it ends. */
  #start = 0;
  #end: number;

  constructor(text: string) {
    this.#text = text;
    this.#end = this.#endFrom(0);
  }

  /** The line at `offset`; the first is 1. */
  at(offset: number): number {
    if (offset < this.#start) {
      this.#line = 1;
      this.#start = 0;
      this.#end = this.#endFrom(0);
    }
    while (this.#end < offset) {
      this.#line++;
      this.#start = this.#end + 1;
      this.#end = this.#endFrom(this.#start);
    }
    return this.#line;
  }

  #endFrom(offset: number): number {
    const end = this.#text.indexOf('\n', offset);
    return end < 0 ? Number.POSITIVE_INFINITY : end;
  }
}
