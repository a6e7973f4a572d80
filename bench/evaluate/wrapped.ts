/** Markdown with numbers in its sentences, wrapped at 100 columns as the rest of the documentation. */

const WIDTH = 100;
/** What begins a block that stays as it is: a table, a plot, a comment. */
const WHOLE = /^(\||!|\{\{|<)/;
const ITEM = /^(- |\d+\. )/;

/** Blocks are separated by empty lines; the items of a list stand on lines of their own. */
export function wrapped(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((block) => (WHOLE.test(block) ? block : itemsOf(block).map(wrapOne).join('\n')))
    .join('\n\n');
}

function itemsOf(block: string): string[] {
  const items: string[] = [];
  for (const line of block.split('\n')) {
    if (items.length === 0 || ITEM.test(line)) items.push(line);
    else items.push(`${items.pop()} ${line.trim()}`);
  }
  return items;
}

function wrapOne(item: string): string {
  const indent = ' '.repeat(ITEM.exec(item)?.[0].length ?? 0);
  const lines: string[] = [];
  for (const word of item.split(/ +/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : indent + word);
  }
  return lines.join('\n');
}
