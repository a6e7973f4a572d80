/** Writes docs/generated/errors.md from the catalogues of error codes: `npm run errors`. */
import { writeFileSync } from 'node:fs';
import { SECTIONS, type Section } from '../cli/error-sections.ts';
import { remedyFor } from '../core/errors.ts';

const HEAD = `# Error codes

Every refusal and failure has a short code: on pages of the Reader and the reading site, in brackets after the message on the command line (all but \`usage\`), and in tests. \`wispr explain CODE\` prints an entry. Wording may change, codes do not. \`npm run errors\` writes this page from the catalogues in the code (\`errors.ts\` of each layer).

## Exit codes

| | the command | for example |
|---|---|---|
| 0 | succeeded, perhaps with warnings on standard error | \`wispr check\` with notes only |
| 1 | failed, with a code in brackets, or in part, and says in which | \`wispr publish\` with one target out of reach; \`wispr proxy status\` without a running Reader |
| 2 | was typed wrong, or names a file that does not exist | an unknown option; no terminal to ask on, and no \`--yes\` |
| 3 | \`wispr verify\` or \`wispr check\` found something | a mirror lacks files |
| above 128 | was ended by a signal | a second Ctrl-C |

Errors are on standard error, also with \`--json\`. After exit code 1 the same command goes on where the first run ended.
`;

/** Makes the whole page. */
export function errorDocs(): string {
  return wrapped([HEAD, ...SECTIONS.map(describeSection)].join('\n'));
}

function describeSection({ title, intro, catalogue, spec }: Section): string {
  const columns = ['code', ...(spec ? ['step'] : []), 'what it means', 'what to do'];
  const first = new Map<string, string>();
  const rows = Object.entries(catalogue).map(([code, { means, step = '' }]) => {
    const remedy = remedyFor(catalogue, code) ?? '';
    const same = first.get(remedy);
    if (same === undefined) first.set(remedy, code);
    const advice = same === undefined ? linked(remedy) : `as for \`${same}\``;
    return row([`\`${code}\``, ...(spec ? [step] : []), linked(means), advice]);
  });
  return [`## ${title}`, '', intro, '', row(columns), `|${'---|'.repeat(columns.length)}`, ...rows, ''].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
}

/** Makes links to other pages of docs/. */
function linked(sentence: string): string {
  return sentence.replace(/docs\/([a-z-]+\.md)(#[a-z-]+)?/g, '[$1](../$1$2)');
}

/** Wraps paragraphs to lines of at most 100 columns; tables stay as they are. */
function wrapped(page: string): string {
  const lines = page
    .split('\n')
    .map((line) => (line.startsWith('|') ? line : line.replace(/(.{1,100})(?: |$)/g, '$1\n').trimEnd()));
  return lines.join('\n');
}

if (import.meta.main) writeFileSync('docs/generated/errors.md', errorDocs());
