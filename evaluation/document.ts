/** evaluation/results: a file of tables for each figure, and its plots. docs/evaluation.md says what they mean. */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';

const RESULTS = new URL('results/', import.meta.url);

export interface Figure {
  /** Number of runs that each value is from. */
  readonly runs: string;
  /** Sections, each made by {@link section}. */
  readonly sections: readonly string[];
  /** SVG by name. */
  readonly plots: Readonly<Record<string, string>>;
}

/** Writes the tables and plots of a figure, in place of those of the run before. */
export async function writeFigure(name: string, { runs, sections, plots }: Figure): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  for (const [plot, svg] of Object.entries(plots)) await writeFile(new URL(`${plot}.svg`, RESULTS), svg);
  const page = [`# ${name}`, `${ranOn()} ${runs}`, ...sections].join('\n\n');
  await writeFile(new URL(`${name}.md`, RESULTS), `${page}\n`);
}

/** A table of Markdown below its title, and the plots of its values. */
export function section(title: string, content: string, ...plots: string[]): string {
  return [`## ${title}`, content, ...plots.map((plot) => `![${plot}](${plot}.svg)`)].join('\n\n');
}

/** The machine and the day. */
function ranOn(): string {
  const [processor] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `Measured on ${day}: ${cpus().length} cores (${processor?.model.trim()}), Node.js ${process.versions.node}.`;
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
