/** Whether a client accepts a content coding: RFC 9110 section 12.5.3. */

/**
 * Without the header, nothing but the plain content is sent: programs that do not ask for a coding seldom undo one.
 *
 * @param coding - in lower case
 */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  if (header === undefined) return false;
  let star: number | undefined;
  for (const item of header.toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    const quality = qualityOf(parameters);
    if (name === coding || name === `x-${coding}`) return quality > 0;
    if (name === '*') star = quality;
  }
  return (star ?? 0) > 0;
}

/** A weight that is not one counts as a refusal. */
function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  if (weight === undefined) return 1;
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0;
}
