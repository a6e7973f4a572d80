/** Finds the section that a target belongs to, and says that in TUF: docs/spec/publication.md, section 4. */
import { matchesPattern } from '../../core/publication/bins.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { SECTION_DEPTH, type SectionRule } from '../workspace/configuration/names.ts';

/** Returns the patterns of a delegation, for heads as well as for the contents of public documents. */
export function targetPatterns({ paths }: SectionRule): string[] {
  return [...new Set(paths.flatMap(patternsOf))];
}

function patternsOf(path: string): string[] {
  if (path.endsWith('/**')) {
    const start = path.slice(0, -2);
    return Array.from({ length: SECTION_DEPTH }, (_, deeper) => `${start}${'*/'.repeat(deeper)}*`);
  }
  return path.endsWith('*') ? [path] : [path, path + OBJECT_SUFFIX];
}

interface Compiled {
  readonly rule: SectionRule;
  readonly matchers: readonly ((targetPath: string) => boolean)[];
}

/** Finds sections as readers do: the first whose patterns fit. */
export class Sections {
  readonly #compiled: readonly Compiled[];

  constructor(rules: readonly SectionRule[]) {
    this.#compiled = rules.map((rule) => ({ rule, matchers: rule.paths.flatMap(matchersOf) }));
  }

  /** Returns the name of the section that a target path belongs to; `undefined` for the rest of the site. */
  find(targetPath: string): string | undefined {
    return this.#compiled.find(({ matchers }) => matchers.some((matches) => matches(targetPath)))?.rule.name;
  }

  /** Tells whether a document lies too deep below the directory of a section for the patterns to reach it. */
  reachesNot(path: string): boolean {
    if (this.#compiled.length === 0 || path.split('/').length - 2 < SECTION_DEPTH) return false;
    const inside = path.slice(1);
    const isBelow = (start: string) => {
      const depth = start.split('/').length;
      const segments = inside.split('/');
      return segments.length - depth > SECTION_DEPTH && matchesPattern(start, segments.slice(0, depth).join('/'));
    };
    return this.#compiled.some(({ rule }) =>
      rule.paths.some((text) => text.endsWith('/**') && isBelow(text.slice(0, -3))),
    );
  }
}

/** Does the same as {@link patternsOf}, without a pattern for each depth: it is asked of every document. */
function matchersOf(path: string): ((targetPath: string) => boolean)[] {
  if (!path.endsWith('/**'))
    return patternsOf(path).map((pattern) => (target: string) => matchesPattern(pattern, target));
  const start = path.slice(0, -3);
  const depth = start.split('/').length;
  return [
    (target) => {
      const segments = target.split('/');
      const deeper = segments.length - depth;
      return deeper >= 1 && deeper <= SECTION_DEPTH && matchesPattern(start, segments.slice(0, depth).join('/'));
    },
  ];
}
