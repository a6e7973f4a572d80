/** Lists and numbers for people's eyes. */

const SHOWN = 5;

/**
 * Lists a few items, and how many more there are.
 *
 * @param total - how many there are in all, if `items` are only the first of them
 */
export function someOf(items: readonly string[], separator = ', ', total = items.length): string {
  const shown = items.slice(0, SHOWN);
  const more = total - shown.length;
  return more > 0 ? `${shown.join(separator)}${separator}and ${more} more` : shown.join(separator);
}

/** Writes `1 file`, `2 files`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? singular : plural}`;
}

const SHOWN_SETS = 12;

/** Lists the sets of a site, a line for each. */
export function describeSets(sets: readonly { name: string; documents: number; isNew?: boolean }[]): string[] {
  const shown = sets.slice(0, SHOWN_SETS);
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const lines = shown.map(({ name, documents, isNew }) => {
    return `  set ${name.padEnd(width)}  ${count(documents, 'document')}${isNew ? ', new key' : ''}`;
  });
  return sets.length > shown.length ? [...lines, `  and ${count(sets.length - shown.length, 'more set')}`] : lines;
}

/** Lists the public documents of a site, a line for each reason. @param groups - with paths for people's eyes */
export function describePublic(
  groups: readonly { reason: string; documents: number; paths: readonly string[] }[],
): string[] {
  const total = groups.reduce((sum, { documents }) => sum + documents, 0);
  if (total === 0) return ['  public: nothing but addresses, and titles and descriptions of pages'];
  const lines = groups.map(({ reason, documents, paths }) => {
    const names = paths.slice(0, 3).map((path) => path.slice(1));
    return `    ${someOf(names, ', ', documents)} (${reason})`;
  });
  return [`  public, signed but not encrypted: ${count(total, 'document')}`, ...lines];
}

const KEPT = 100;

/** Problems of a site: all of them are counted, and the first 100 are kept. */
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
