/** Writes docs/errors.md from the catalogues of error codes: `npm run errors`. */
import { writeFileSync } from 'node:fs';
import { CACHE_CONFIG_ERRORS } from '../cache-config/errors.ts';
import { READER_ERRORS } from '../client-proxy/errors.ts';
import type { ErrorCatalogue } from '../core/errors.ts';
import { CHANNEL_ERRORS } from '../core/httpcrypt/errors.ts';
import { KEY_ERRORS } from '../core/keys/errors.ts';
import { OBJECT_ERRORS } from '../core/object/errors.ts';
import { PUBLICATION_ERRORS } from '../core/publication/errors.ts';
import { READING_ERRORS } from '../core/reading/errors.ts';
import { KEY_SERVER_ERRORS } from '../keyserver/errors.ts';
import { LINK_ERRORS } from '../link/errors.ts';
import { STORAGE_ERRORS } from '../node-support/storage/errors.ts';
import { PUBLISH_ERRORS } from '../publisher/errors.ts';
import { FILE_FINDINGS } from '../publisher/verify/report.ts';
import { WEB_READER_ERRORS } from '../web-reader/errors.ts';

interface Section {
  readonly title: string;
  readonly intro: string;
  readonly catalogue: ErrorCatalogue;
  /** The specification that numbers the steps of its codes. */
  readonly spec?: string;
}

/** In the order in which docs/errors.md shows them. */
export const SECTIONS: readonly Section[] = [
  {
    title: 'Protected objects',
    intro: 'Steps are those of [protected-object.md](spec/protected-object.md), "Verification".',
    catalogue: OBJECT_ERRORS,
    spec: 'docs/spec/protected-object.md',
  },
  { title: 'Reading', intro: 'Before there is an object to check.', catalogue: READING_ERRORS },
  {
    title: 'Keys',
    intro:
      'Steps W, D and B are those of [keys.md](spec/keys.md), steps R those of [roaming.md](spec/roaming.md), steps V and F those of [web-reader.md](spec/web-reader.md).',
    catalogue: KEY_ERRORS,
    spec: 'docs/spec/keys.md',
  },
  {
    title: 'HTTPCrypt',
    intro: 'Steps are those of [httpcrypt.md](spec/httpcrypt.md).',
    catalogue: CHANNEL_ERRORS,
    spec: 'docs/spec/httpcrypt.md',
  },
  {
    title: 'Publications',
    intro:
      'Steps are those of [publication.md](spec/publication.md), "Reading". What was trusted before stays in use until it expires.',
    catalogue: PUBLICATION_ERRORS,
    spec: 'docs/spec/publication.md',
  },
  {
    title: 'Publisher',
    intro: 'Unless the message says otherwise, nothing changed for readers, and the next run uses what was written.',
    catalogue: PUBLISH_ERRORS,
  },
  {
    title: 'Findings of `wispr verify`',
    intro: 'Besides the codes of protected objects, keys and publications.',
    catalogue: FILE_FINDINGS,
  },
  {
    title: 'Targets',
    intro: 'Directories and buckets that files are published to. Files that were there before are whole.',
    catalogue: STORAGE_ERRORS,
  },
  {
    title: 'Key server',
    intro:
      'On its command line and in its log. Devices and publishers are sent the code only, as `{"error": "code"}`; readers see it on the pages of the reading site.',
    catalogue: KEY_SERVER_ERRORS,
  },
  { title: 'Cache configurations', intro: '`wispr cache-config` and tests.', catalogue: CACHE_CONFIG_ERRORS },
  {
    title: 'Reader',
    intro:
      '`wispr proxy`, `bind`, `fetch`, `sync` and `identity`, and the pages of the Reader, whose answers have the code in the header `Wispr-Refusal`.',
    catalogue: READER_ERRORS,
  },
  {
    title: 'In-browser reader',
    intro: 'Besides the codes of protected objects, reading, keys and publications; on its pages, folded away.',
    catalogue: WEB_READER_ERRORS,
  },
  { title: 'Relays of a narrow link', intro: '`wispr link near` and `wispr link far`.', catalogue: LINK_ERRORS },
];

const HEAD = `# Error codes

Every refusal and failure has a short code: on pages of the Reader and the reading site, in brackets after the message on the command line (all but \`usage\`), and in tests. Wording may change, codes do not. \`npm run errors\` writes this page from the catalogues in the code (\`errors.ts\` of each layer).

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

/** The whole page. */
export function errorDocs(): string {
  return wrapped([HEAD, ...SECTIONS.map(describeSection)].join('\n'));
}

function describeSection({ title, intro, catalogue, spec }: Section): string {
  const columns = ['code', ...(spec ? ['step'] : []), 'what it means', 'what to do'];
  const first = new Map<string, string>();
  const rows = Object.entries(catalogue).map(([code, { means, remedy = '', step = '' }]) => {
    const same = first.get(remedy);
    if (same === undefined && remedy !== '') first.set(remedy, code);
    const advice = same === undefined ? linked(remedy) : `as for \`${same}\``;
    return row([`\`${code}\``, ...(spec ? [step] : []), linked(means), advice]);
  });
  return [`## ${title}`, '', intro, '', row(columns), `|${'---|'.repeat(columns.length)}`, ...rows, ''].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
}

/** Other pages of docs/ as links. */
function linked(sentence: string): string {
  return sentence.replace(/docs\/([a-z-]+\.md)(#[a-z-]+)?/g, '[$1]($1$2)');
}

/** Paragraphs in lines of at most 100 columns; tables as they are. */
function wrapped(page: string): string {
  const lines = page
    .split('\n')
    .map((line) => (line.startsWith('|') ? line : line.replace(/(.{1,100})(?: |$)/g, '$1\n').trimEnd()));
  return lines.join('\n');
}

if (import.meta.main) writeFileSync('docs/errors.md', errorDocs());
