/** A pure function of short texts that are asked for again and again: what it gave for the last of them is remembered. */

const LONGEST = 300;
const MOST = 500;

/** The same function, quicker. What it returns is shared: callers must not change it. */
export function remembering<Result>(work: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const result = work(text);
    if (text.length > LONGEST || result === undefined) return result;
    if (known.size >= MOST) known.clear();
    known.set(text, result);
    return result;
  };
}
