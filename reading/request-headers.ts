/** Header fields of a request, names in lower case, in the form that `node:http` gives them. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Returns a field; where it came in several lines, as the list that they are together (RFC 9110 section 5.3). */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
