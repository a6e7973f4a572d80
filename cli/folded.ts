/** Lines of foreign text for people: a terminal would go on with a long one at its left edge, where it could look like a line of its own. */

/** How far the rest of a line stands behind its beginning: further than anything that is listed below it. */
const HANGING = 6;
/** Where nobody says how wide it is shown. */
const USUAL_COLUMNS = 80;
const LEAST_COLUMNS = 30;
/** Ends a row that was broken within a word. */
const GOES_ON = '\\';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Columns of standard error, less those in front of each line. */
export function columnsAfter(prefix: number): number {
  return Math.max(LEAST_COLUMNS, (process.stderr.columns || USUAL_COLUMNS) - prefix);
}

/** The rows of a line: none is wider than `columns`, and all but the first are indented further than it. */
export function folded(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const indent = ' '.repeat(Math.min((/^ */.exec(line)?.[0].length ?? 0) + HANGING, columns / 2));
  const rows: string[] = [];
  let row = '';
  for (const word of line.split(/(?<=\S)(?= )/)) {
    if (widthOf(row + word) <= columns) {
      row += word;
      continue;
    }
    const pieces = widthOf(indent + word.trimStart()) <= columns ? [] : inPieces(row + word, columns, indent);
    rows.push(...(pieces.length > 0 ? pieces.slice(0, -1) : [row]));
    row = pieces.at(-1) ?? indent + word.trimStart();
  }
  return [...rows, row];
}

/** A word that no row can hold. */
function inPieces(text: string, columns: number, indent: string): string[] {
  const rows: string[] = [];
  let row = '';
  for (const { segment } of graphemes.segment(text)) {
    if (widthOf(row + segment) >= columns) {
      rows.push(row + GOES_ON);
      row = indent;
    }
    row += segment;
  }
  return [...rows, row];
}

/** At most: what is not ASCII may take two columns. */
function widthOf(text: string): number {
  return text.length + (text.match(/\P{ASCII}/gu)?.length ?? 0);
}
