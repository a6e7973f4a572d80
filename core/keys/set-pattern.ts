/** Whether `pattern`, in which `*` stands for any characters, matches the whole of a set's `name`. In time linear in both. */
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

/** Whether plans and subscribers can have this pattern: 1 to 100 characters without spaces and commas. */
export function isSetPattern(text: string): boolean {
  return /^[^\p{C}\s,]{1,100}$/u.test(text);
}

/** Whether a plan can have this name. */
export function isPlanName(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(text);
}
