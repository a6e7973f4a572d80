/** Tells whether `pattern`, in which `*` stands for any characters, matches the whole of a set's `name`. Takes time linear in both. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  if (end === undefined) return pattern === name;
  if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false;
  let position = start.length;
  for (const part of rest) {
    const found = name.indexOf(part, position);
    if (found < 0 || found + part.length > name.length - end.length) return false;
    position = found + part.length;
  }
  return true;
}

/** Patterns that plans and subscribers can have: without spaces and commas. */
export const SET_PATTERN = /^[^\p{C}\s,]{1,100}$/u;

/** Names that plans can have. */
export const PLAN_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
