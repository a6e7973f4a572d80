/** Pages of documentation: their links, widths and lists of settings, and the tests of their attack rows. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rowFaults } from '../../scripts/attack-rows.ts';
import { withCurrentTables } from '../../scripts/configuration-docs.ts';

const PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md')];
const read = (file: string) => readFileSync(file, 'utf8');

/** A page without its code, in which nothing is a link. */
const prose = (file: string) =>
  read(file)
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`]*`/g, '');

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(file: string): string[] {
  const headings = read(file)
    .replace(/^```.*?^```$/gms, '')
    .matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isResolved(page: string, link: string): boolean {
  if (/^https?:/.test(link)) return true;
  const [path = '', anchor] = link.split('#');
  const file = path === '' ? page : normalize(join(dirname(page), path));
  return existsSync(file) && (anchor === undefined || anchorsOf(file).includes(anchor));
}

describe.each(PAGES)('%s', (page) => {
  it('has no link that leads nowhere', () => {
    const links = Array.from(
      prose(page).matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g),
      ([, to, src]) => to ?? src ?? '',
    );
    expect(links.filter((link) => !isResolved(page, link))).toEqual([]);
  });

  it('is wrapped at 100 columns, except for tables and code', () => {
    const lines = read(page)
      .replace(/^```.*?^```$/gms, '')
      .split('\n');
    expect(lines.filter((line) => line.length > 100 && !line.startsWith('|') && /\S\s+\S/.test(line))).toEqual([]);
  });
});

/** English that readers stumble over, with the reason. */
const UNWANTED = {
  'a relative clause without a noun':
    /(?:^|[.:;|] |\n- )Who (?![^.|]*\?)|\b(?:by|for|from|of|or|than|to|with|neither|nor) who\b/,
  '"again"': /\banew\b/i,
  '"applies" or "takes effect"': /\bcounts (?:for|from)\b|\bcount for\b|\brule counts\b/,
  '"is valid" or "works"': /\b(?:is|are|was) (?:not )?good\b(?! (?:reason|for))/,
  '"otherwise"': /[;.] else\b/i,
};

it.each(Object.entries(UNWANTED))('no guide is to be read twice: %s', (_, pattern) => {
  const guides = PAGES.filter((page) => !/CHANGELOG|errors\.md|spec\//.test(page));
  const found = guides.flatMap((page) => {
    const text = prose(page).replace(/([^\n|])\n(?=[^\n|#-])/g, '$1 ');
    return Array.from(text.matchAll(new RegExp(pattern, `${pattern.flags}gm`)), ({ index }) => [
      page,
      text.slice(index, index + 60),
    ]);
  });
  expect(found).toEqual([]);
});

it('README.md shows its two commands within 40 lines, and the browsers of docs/reader.md', () => {
  const page = read('README.md');
  const head = page.split('\n').slice(0, 40).join('\n');
  for (const shown of ['npm run demo', 'npm test', 'docs/pictures/tour-light.png']) expect(head).toContain(shown);
  const browsers = /^\| +\| (Chromium .*) \|$/m.exec(read('docs/reader.md'))?.[1]?.split(' | ') ?? [];
  expect(browsers).toHaveLength(3);
  for (const browser of browsers) expect(page).toContain(browser);
});

it('every page that code, messages or tests name exists', () => {
  const files = globSync(
    '{cli,client-proxy,core,httpcrypt,link,publisher,teaser,words,keyserver,node-support,cache-config,scripts,bench,evaluation,examples,tests}/**/*.{ts,mjs,yml,py}',
  );
  const named = files.flatMap((file) =>
    Array.from(read(file).matchAll(/\bdocs\/[a-z/-]+\.md\b/g), ([name]) => [file, name] as const),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(([, name]) => !existsSync(name))).toEqual([]);
});

it('docs/configuration.md is generated from the schemas (npm run configuration)', () => {
  const page = read('docs/configuration.md');
  expect(withCurrentTables(page)).toBe(page);
});

it('docs/configuration.md says of every setting what it may be and what it means', () => {
  const settings = Array.from(read('docs/configuration.md').matchAll(/^\| `[\w$.]+` \| (.*) \| (.*) \|$/gm));
  expect(settings.length).toBeGreaterThan(90);
  expect(settings.filter(([, value, meaning]) => value === '' || meaning === '').map(([row]) => row)).toEqual([]);
});

describe('the script that holds attack rows to their tests', () => {
  const catalogue = '## Attacks\n| 1 | x | refused |\n| 23 | y | refused |\n';

  it('accepts rows that titles of tests name', () => {
    expect(rowFaults(catalogue, ["it('attack 1: refuses x'", '# attack 23: refuses y\nwispr init'])).toEqual([]);
  });

  it('reports rows without a test, and titles without a row', () => {
    expect(rowFaults(catalogue, ["it('attack 2: refuses z'", '// attack 1 is elsewhere'])).toHaveLength(3);
  });
});
