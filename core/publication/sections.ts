/** Names that sections may have, and how many there are: docs/spec/publication.md, section 4. */

export const MOST_SECTIONS = 16;

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const TAKEN = /^(?:root|targets|snapshot|timestamp|publisher|bins|documents.*)$/;

export function isSectionName(text: string): boolean {
  return NAME.test(text) && !TAKEN.test(text);
}
