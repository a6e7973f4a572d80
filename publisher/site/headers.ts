/** Response headers that are signed with each document, by the rules of `wispr.json`. */
import type { SignedHeaderName } from '../../core/object/metadata.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { compilePattern, type PathPattern } from './patterns.ts';

/** Header names in lower case, as metadata hold them. */
export type DocumentHeaders = Readonly<Partial<Record<SignedHeaderName, string>>>;

export class HeaderRules {
  readonly #rules: readonly { readonly pattern: PathPattern; readonly headers: DocumentHeaders }[];
  readonly #used = new Set<PathPattern>();

  constructor({ headers }: Pick<Configuration, 'headers'>) {
    this.#rules = headers.map(({ path, set }) => ({ pattern: compilePattern(path), headers: inLowerCase(set) }));
  }

  /**
   * Returns the headers of a document; `undefined` if it has none. Later rules win, for each header by itself.
   *
   * @param path - the document's path: `/a/b.html`
   */
  headersOf(path: string): DocumentHeaders | undefined {
    let headers: DocumentHeaders | undefined;
    for (const { pattern, headers: further } of this.#rules) {
      if (pattern.match(path.slice(1)) === undefined) continue;
      this.#used.add(pattern);
      headers = { ...headers, ...further };
    }
    return headers;
  }

  unused(): string[] {
    return this.#rules.filter(({ pattern }) => !this.#used.has(pattern)).map(({ pattern }) => pattern.text);
  }
}

function inLowerCase(set: Readonly<Record<string, string | undefined>>): DocumentHeaders {
  return Object.fromEntries(
    Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), value]])),
  );
}
