/** Suggestions for a mistyped word. */

const NEAREST_SHOWN = 3;
/** A word that differs more is another word. */
const MAXIMUM_DISTANCE = 2;

/** The words of the list that differ least from what was typed, if any is near. */
export function nearestWords(typed: string, words: readonly string[]): string[] {
  const near = words
    .filter((word) => Math.abs(word.length - typed.length) <= MAXIMUM_DISTANCE)
    .map((word) => ({ word, distance: distanceBetween(word, typed) }))
    .filter(({ distance }) => distance <= MAXIMUM_DISTANCE);
  const least = Math.min(...near.map(({ distance }) => distance));
  return near
    .filter(({ distance }) => distance === least)
    .slice(0, NEAREST_SHOWN)
    .map(({ word }) => word);
}

/** Counts letters left out, put in, changed, or two exchanged: optimal string alignment. */
function distanceBetween(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const exchanged =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row[j] = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change, exchanged);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
