/** Header fields that a hop passes on, in the flat lists of Node.js, names and values alternating: RFC 9110 section 7.6.1. */

/** Fields that concern one connection only. */
export const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Fields for every hop, whatever `Connection` says of them. */
const NEVER_FOR_ONE_HOP = new Set(['content-length', 'host']);

/** The fields that are not for one connection only. @param dropped - further names, in lower case */
export function endToEndFields(fields: readonly string[], dropped: readonly string[]): string[] {
  const named = namedByConnection(fields);
  const kept: string[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [name = '', value = ''] = [fields[index], fields[index + 1]];
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || named?.has(lower) || dropped.includes(lower)) continue;
    // A length that begins with zeros is octal to some hosts.
    kept.push(name, lower === 'content-length' ? value.replace(/^0+(?=\d)/, '') : value);
  }
  return kept;
}

/** The value of the first field of a name. @param name - in lower case */
export function fieldOf(name: string, fields: readonly string[]): string | undefined {
  const index = fields.findIndex((field, position) => position % 2 === 0 && field.toLowerCase() === name);
  return index < 0 ? undefined : fields[index + 1];
}

/** The members of a field that is a list, in lower case. */
export function listOf(value: string | undefined): string[] {
  return (value ?? '').split(',').flatMap((member) => member.trim().toLowerCase() || []);
}

/** Finds what `Connection` names, which is for this hop too. */
function namedByConnection(fields: readonly string[]): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const value = fields[index]?.toLowerCase() === 'connection' ? fields[index + 1] : undefined;
    if (value === undefined || /^(?:close|keep-alive)$/i.test(value)) continue;
    named ??= new Set();
    for (const name of listOf(value)) if (!NEVER_FOR_ONE_HOP.has(name)) named.add(name);
  }
  return named;
}
