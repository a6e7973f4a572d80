/** The names that `wispr.json` gives: sets, placeholders in set rules, sections and their paths. */
import { MOST_SECTIONS } from '../../../core/publication/sections.ts';

/** The word that says that a document is signed and not encrypted; no set can be called so. */
export const PUBLIC = 'public';

/** Form of a set name, for error messages. */
export const SET_NAME_FORM =
  'must be 1 to 64 letters, digits, dots, hyphens, underscores and inner spaces, beginning with a letter or digit, and not "public"';

const SET_NAME = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} ._-]*[\p{L}\p{M}\p{N}._-])?$/u;

/** Tells whether `name` can be the name of a document set. One spelling for each: only Unicode's composed form (NFC). */
export function isSetName(name: string): boolean {
  return name.length <= 64 && SET_NAME.test(name) && name.normalize('NFC') === name && name.toLowerCase() !== PUBLIC;
}

export interface SectionRule {
  readonly name: string;
  /** Patterns over paths inside the source; `/**` may end one. */
  readonly paths: readonly string[];
}

/** Directories that `/**` reaches down: TUF's patterns have as many segments as the paths they are for, so each depth is one pattern. */
export const SECTION_DEPTH = 16;

const MOST_PATHS = 8;

export const SECTION_LIMITS = {
  sections: MOST_SECTIONS,
  paths: MOST_PATHS,
  pathLength: 256,
  /** Patterns that the paths of one section become. */
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
