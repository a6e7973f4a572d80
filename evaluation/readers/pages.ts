/** The pages of a site, with what a browser loads to show each: pictures, style sheets, scripts. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { documentPathOf, urlPathOf } from '../../core/site/path.ts';

export interface Page {
  readonly path: string;
  /** Paths of documents, in the order of the page. */
  readonly loads: readonly string[];
}

const TAG = /<(?:img|script|source|input|link)\b[^>]*>/gi;
const SOURCE = /\ssrc\s*=\s*["']([^"']+)["']/i;
const LINK = /\shref\s*=\s*["']([^"']+)["']/i;
const LOADED_LINK = /\srel\s*=\s*["'][^"']*\b(?:stylesheet|icon)\b/i;
const IN_STYLE = /(?:url\(\s*|@import\s+)["']?([^"')\s]+)/g;

/** @param source - the site in clear */
export async function pagesOf(source: string): Promise<Page[]> {
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => `/${relative(source, join(entry.parentPath, entry.name))}`)
    .sort();
  const known = new Set(paths);
  const pages = paths.filter((path) => path.endsWith('.html'));
  return Promise.all(pages.map(async (path) => ({ path, loads: await loadsOf(source, path, known) })));
}

async function loadsOf(source: string, page: string, known: ReadonlySet<string>): Promise<string[]> {
  const loads = new Set<string>();
  const waiting = [page];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const text = await readFile(join(source, path), 'utf8');
    for (const written of path.endsWith('.css') ? writtenInStyle(text) : writtenInPage(text)) {
      const { host, pathname } = new URL(written, `http://site${urlPathOf(path)}`);
      const found = host === 'site' ? documentPathOf(pathname) : undefined;
      if (found === undefined || !known.has(found) || loads.has(found)) continue;
      loads.add(found);
      if (found.endsWith('.css')) waiting.push(found);
    }
  }
  return [...loads];
}

function writtenInPage(text: string): string[] {
  return [...text.matchAll(TAG)].flatMap(([tag]) => {
    const [, written] = (/^<link/i.test(tag) ? LOADED_LINK.test(tag) && LINK.exec(tag) : SOURCE.exec(tag)) || [];
    return written === undefined || written.startsWith('data:') ? [] : [written];
  });
}

function writtenInStyle(text: string): string[] {
  return [...text.matchAll(IN_STYLE)].flatMap(([, written]) =>
    written === undefined || written.startsWith('data:') ? [] : [written],
  );
}
