/** Lists and numbers for people's eyes. */

const SHOWN = 5;

/**
 * A few items of a list, and how many more there are.
 *
 * @param total - how many there are in all, if `items` are only the first of them
 */
export function someOf(items: readonly string[], separator = ', ', total = items.length): string {
  const shown = items.slice(0, SHOWN);
  const more = total - shown.length;
  return more > 0 ? `${shown.join(separator)}${separator}and ${more} more` : shown.join(separator);
}

/** `1 file`, `2 files`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
}

const KEPT = 100;

/** What is wrong with a site: all of it is counted, and the first 100 are kept. */
export class Problems {
  readonly #first: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get first(): readonly string[] {
    return this.#first.toSorted();
  }

  add(problem: string): void {
    this.#count++;
    if (this.#first.length < KEPT) this.#first.push(problem);
  }
}
