/** docs/evaluation.md: each figure stands between two marks, and its plots lie beside it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { wrapped } from './wrapped.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/evaluation.md', import.meta.url));
const PLOTS = new URL('../../docs/evaluation/', import.meta.url);

export interface Figure {
  /** Markdown: what was measured, the table, and what it does not show. `{{plot NAME}}` stands for a plot. */
  readonly text: string;
  /** SVG by name. */
  readonly plots: Readonly<Record<string, string>>;
}

/** Puts a figure into its place. @throws Error where the document has no marks for it */
export async function writeFigure(name: string, { text, plots }: Figure): Promise<void> {
  await mkdir(PLOTS, { recursive: true });
  for (const [plot, svg] of Object.entries(plots)) await writeFile(new URL(`${plot}.svg`, PLOTS), svg);
  const shown = wrapped(text).replace(/\{\{plot ([\w-]+)\}\}/g, (_, plot) => `![${plot}](evaluation/${plot}.svg)`);
  const document = await readFile(DOCUMENT, 'utf8');
  const place = new RegExp(`(<!-- figure ${name} -->\n)[^]*?(\n<!-- end -->)`);
  if (!place.test(document)) throw new Error(`docs/evaluation.md has no place for the figure ${name}`);
  await writeFile(
    DOCUMENT,
    document.replace(place, (_, begin, end) => `${begin}\n${shown.trim()}\n${end}`),
  );
}

/** The machine and the day, for a line below a figure. */
export function ranOn(): string {
  const [processor] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `\nMeasured on ${day}: ${cpus().length} cores (${processor?.model.trim()}), Node.js ${process.versions.node}.`;
}

/** A table of Markdown; the first column is text, the others are figures. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = `|${header.map((_, index) => (index === 0 ? '---' : '--:')).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

/** With a capital letter at its beginning. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
