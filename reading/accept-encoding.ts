/** Content coding that a client would have: RFC 9110 section 12.5.3. */

/** Tells whether the coding is sent; else it is undone, as where neither is acceptable. @param coding - in lower case */
export function prefersCoding(header: string | undefined, coding: string): boolean {
  if (header === undefined) return false;
  let star: number | undefined;
  let own: number | undefined;
  let identity: number | undefined;
  for (const item of header.toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    const quality = qualityOf(parameters);
    if (name === coding || name === `x-${coding}`) own = quality;
    else if (name === 'identity') identity = quality;
    else if (name === '*') star = quality;
  }
  // Plain content that is not named is acceptable, but was not asked for.
  const quality = own ?? star ?? 0;
  return quality > 0 && quality >= (identity ?? 0);
}

/** A weight that is not one counts as a refusal. */
function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  if (weight === undefined) return 1;
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0;
}
