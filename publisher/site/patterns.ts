/** Path patterns of `wispr.json`: globs over paths inside the source, written without a leading slash. */
import picomatch from 'picomatch';
import { PLACEHOLDER_FORMS, PLACEHOLDERS, type Placeholder } from '../../core/publication/set-titles.ts';

export interface PathPattern {
  readonly text: string;
  /** Returns the values of the placeholders in `path`, a path inside the source; `undefined` if it does not fit. */
  match(path: string): Partial<Record<Placeholder, string>> | undefined;
}

/** Compiles `text`: picomatch's globs, `dir/` for everything below a directory, and `{yyyy}`, `{mm}`, `{dd}`. */
export function compilePattern(text: string): PathPattern {
  const glob = text.replace(/^\.?\/+/, '').replace(/\/$/, '/**');
  // The flag u is left out: picomatch escapes more characters than that flag allows.
  const expression = new RegExp(putPlaceholders(picomatch.makeRe(hidePlaceholders(glob), { dot: true }).source));
  return { text, match: (path) => matchGroups(expression, path) };
}

/** A list of patterns, which tells afterwards which of them fitted nothing: probably misspelt. */
export class PathPatterns {
  readonly #patterns: readonly PathPattern[];
  readonly #used = new Set<PathPattern>();

  constructor(texts: readonly string[]) {
    this.#patterns = texts.map(compilePattern);
  }

  /** @param path - inside the source, without a leading slash */
  fits(path: string): boolean {
    const pattern = this.#patterns.find((each) => each.match(path));
    if (pattern) this.#used.add(pattern);
    return pattern !== undefined;
  }

  unused(): string[] {
    return this.#patterns.filter((each) => !this.#used.has(each)).map(({ text }) => text);
  }
}

function matchGroups(expression: RegExp, path: string): Partial<Record<Placeholder, string>> | undefined {
  const match = expression.exec(path);
  return match === null ? undefined : (match.groups ?? {});
}

// A glob reads {yyyy} as a list of one alternative. So a word takes its place while picomatch makes the expression.
const hidden = (placeholder: Placeholder) => `wisprPLACEHOLDER${placeholder}`;

function hidePlaceholders(glob: string): string {
  return PLACEHOLDERS.reduce((text, name) => text.replaceAll(`{${name}}`, hidden(name)), glob);
}

/** Makes the first of each capture; every further one must be the same. */
function putPlaceholders(source: string): string {
  return PLACEHOLDERS.reduce(
    (text, name) =>
      text
        .replace(hidden(name), () => `(?<${name}>${PLACEHOLDER_FORMS[name]})`)
        .replaceAll(hidden(name), `\\k<${name}>`),
    source,
  );
}
