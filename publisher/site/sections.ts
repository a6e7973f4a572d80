/** Which section a target belongs to, and how that is said in TUF: docs/spec/publication.md, section 4. */
import { matchesPattern } from '../../core/publication/bins.ts';
import { MOST_SECTIONS } from '../../core/publication/sections.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';

/** A section as `wispr.json` names it. */
export interface SectionRule {
  readonly name: string;
  /** Patterns over paths inside the source; `/**` may end one. */
  readonly paths: readonly string[];
}

/** How many directories deep `/**` reaches: TUF's patterns have as many segments as the paths they are for, so each depth is one pattern. */
export const SECTION_DEPTH = 16;

const MOST_PATHS = 8;

export const SECTION_LIMITS = {
  sections: MOST_SECTIONS,
  paths: MOST_PATHS,
  pathLength: 256,
  /** What the paths of one section become. */
  patterns: MOST_PATHS * SECTION_DEPTH,
} as const;

export const SECTION_NAME_FORM =
  'must be 1 to 40 of a-z, 0-9 and "-", and neither the name of a role nor begin with "documents"';

export const SECTION_PATH_FORM =
  'must be a path inside the source such as "sports/**": "*" and "?" stand within one name, "**" for everything below a directory, at the end only; none of []{}()!+@|\\';

/** Signs that other TUF clients read as more than themselves. */
const SPECIAL = /[[\]{}()!+@|\\\p{Cc}]/u;

export function isSectionPath(text: string): boolean {
  if (text.length > SECTION_LIMITS.pathLength || SPECIAL.test(text)) return false;
  const segments = text.split('/');
  const before = segments.at(-1) === '**' ? segments.slice(0, -1) : segments;
  return before.length > 0 && before.every((part) => !['', '.', '..'].includes(part) && !part.includes('**'));
}

/** The patterns of a delegation, for heads as well as for the contents of public documents. */
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

  /** The name of the section that a target path belongs to; `undefined` for the rest of the site. */
  find(targetPath: string): string | undefined {
    return this.#compiled.find(({ matchers }) => matchers.some((matches) => matches(targetPath)))?.rule.name;
  }

  /** Whether a document lies too deep below the directory of a section for the patterns to reach it. */
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

/** The same as {@link patternsOf}, without a pattern for each depth: it is asked of every document. */
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
