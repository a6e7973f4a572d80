/** Reads what a script imports. */
import { initSync, parse as parseModule } from 'es-module-lexer';
import type { Reference } from './reference.ts';

/**
 * The addresses that a script imports by literals: from its own directory, the top of its site, or another host. Names without a slash in front
 * are for import maps. A text that does not parse imports nothing.
 */
export function importsOf(text: string, offset = 0): Reference[] {
  if (!text.includes('import') && !text.includes('export')) return [];
  initSync(); // runs once
  try {
    const [imports] = parseModule(text);
    return imports.flatMap(({ n: url, s: start }) =>
      url !== undefined && IMPORTED_ADDRESS.test(url) ? [{ url, use: 'load', offset: offset + start }] : [],
    );
  } catch {
    return [];
  }
}

const IMPORTED_ADDRESS = /^(?:\.{0,2}\/|https?:)/i;
