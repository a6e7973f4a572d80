/** What is wrong with a site: all of it is counted, and the first 100 are kept. */

const KEPT = 100;

export class Problems {
  readonly #first: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Some of them, in order. */
  get first(): readonly string[] {
    return this.#first.toSorted();
  }

  add(problem: string): void {
    this.#count++;
    if (this.#first.length < KEPT) this.#first.push(problem);
  }
}
