/** Titles that readers see in place of the names of sets: docs/spec/publication.md, "Site settings". */
import { hasMembers, isJsonObject, type Json } from '../encoding/canonical-json.ts';

/** The placeholders in names of sets and in their titles: parts of a date. */
export const PLACEHOLDERS = ['yyyy', 'mm', 'dd'] as const;

export type Placeholder = (typeof PLACEHOLDERS)[number];

/** Form of each, as the source of a regular expression. */
export const PLACEHOLDER_FORMS: Readonly<Record<Placeholder, string>> = {
  yyyy: '[0-9]{4}',
  mm: '(?:0[1-9]|1[0-2])',
  dd: '(?:0[1-9]|[12][0-9]|3[01])',
};

export function placeholdersIn(text: string): Placeholder[] {
  return PLACEHOLDERS.filter((placeholder) => text.includes(`{${placeholder}}`));
}

/** Title of the sets of one name, or of one form of names. */
export interface SetTitle {
  /** The name of a set, perhaps with placeholders, each at most once. */
  readonly set: string;
  /** Has placeholders of the name only. */
  readonly title: string;
}

export const TITLE_LIMITS = { titles: 100, set: 64, title: 100 } as const;

const NAME = /^[\p{L}\p{N}{][\p{L}\p{M}\p{N}{} ._-]*$/u;
/** Text without what controls it, or turns its direction. */
const TITLE = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;

/** Says why a title is refused; `undefined` if it is good. */
export function problemOfTitle({ set, title }: SetTitle): string | undefined {
  if (set.length > TITLE_LIMITS.set || !NAME.test(set)) return '"set" is no name of a set';
  if (title.length > TITLE_LIMITS.title || !TITLE.test(title) || title.trim() !== title)
    return `"title" must be 1 to ${TITLE_LIMITS.title} characters`;
  const known = placeholdersIn(set);
  if (known.some((name) => set.split(`{${name}}`).length > 2)) return '"set" has one placeholder twice';
  if (/[{}]/.test(withoutPlaceholders(set)) || /[{}]/.test(withoutPlaceholders(title)))
    return 'there are no other braces than {yyyy}, {mm}, {dd}';
  if (placeholdersIn(title).some((name) => !known.includes(name)))
    return '"title" has a placeholder that "set" does not have';
  return undefined;
}

/** Tells whether a value out of site settings is a list of titles; no two are for one name. */
export function areSetTitles(value: Json): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > TITLE_LIMITS.titles) return false;
  const names = new Set<string>();
  for (const each of value) {
    if (!isJsonObject(each) || !hasMembers(each, ['set', 'title'])) return false;
    const { set, title } = each;
    if (typeof set !== 'string' || typeof title !== 'string') return false;
    if (problemOfTitle({ set, title }) !== undefined || names.has(set)) return false;
    names.add(set);
  }
  return true;
}

/**
 * Finds the title of a set: by the first entry that fits.
 *
 * @param name - of the set
 * @returns `undefined` if no entry fits
 */
export function titleOfSet(titles: readonly SetTitle[], name: string): string | undefined {
  for (const { set, title } of titles) {
    const match = expressionOf(set).exec(name);
    if (match)
      return PLACEHOLDERS.reduce((text, each) => text.replaceAll(`{${each}}`, match.groups?.[each] ?? ''), title);
  }
  return undefined;
}

function expressionOf(set: string): RegExp {
  const literal = set.replaceAll('.', '\\.'); // dots are the only signs of names that mean anything in an expression
  const source = PLACEHOLDERS.reduce(
    (text, each) => text.replace(`{${each}}`, () => `(?<${each}>${PLACEHOLDER_FORMS[each]})`),
    literal,
  );
  return new RegExp(`^${source}$`, 'u');
}

/** Puts a letter in their place: without one, what stands around them could become a placeholder. */
function withoutPlaceholders(text: string): string {
  return PLACEHOLDERS.reduce((rest, each) => rest.replaceAll(`{${each}}`, 'x'), text);
}
