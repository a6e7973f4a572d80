/** The placeholders in set rules: parts of a date in a path. */
export const PLACEHOLDERS = ['yyyy', 'mm', 'dd'] as const;

export type Placeholder = (typeof PLACEHOLDERS)[number];

/** What each stands for in a path. */
export const PLACEHOLDER_FORMS: Readonly<Record<Placeholder, string>> = {
  yyyy: '[0-9]{4}',
  mm: '(?:0[1-9]|1[0-2])',
  dd: '(?:0[1-9]|[12][0-9]|3[01])',
};

/** The placeholders that stand in `text`. */
export function placeholdersIn(text: string): Placeholder[] {
  return PLACEHOLDERS.filter((placeholder) => text.includes(`{${placeholder}}`));
}
