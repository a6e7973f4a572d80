/** What a page or a style sheet refers to. */

/** How a reference is used. */
export type Use =
  /** Followed by a click. */
  | 'link'
  /** Loaded with the page. */
  | 'load'
  /** Loaded by programs that show previews. */
  | 'preview'
  /** Whatever scripts do with it. */
  | 'data';

export interface Reference {
  /** As written. */
  readonly url: string;
  readonly use: Use;
  /** Where it stands in the text. */
  readonly offset: number;
}

/** The addresses in a `srcset` (WHATWG HTML, "parse a srcset attribute"). */
export function addressesOfSrcset(srcset: string): string[] {
  const addresses: string[] = [];
  const address = /[\s,]*(\S+)/y;
  for (let match = address.exec(srcset); match !== null; match = address.exec(srcset)) {
    const [, written = ''] = match;
    const bare = written.replace(/,+$/, '');
    if (bare !== '') addresses.push(bare);
    if (bare === written) address.lastIndex = endOfDescriptor(srcset, address.lastIndex);
  }
  return addresses;
}

function endOfDescriptor(srcset: string, from: number): number {
  const descriptor = /(?:\([^)]*\)|[^,(])*,?/y;
  descriptor.lastIndex = from;
  descriptor.exec(srcset);
  return Math.max(descriptor.lastIndex, from);
}

// Bounded, so that no text takes quadratic time; what is longer is data: and leads nowhere.
const STYLE_REFERENCE =
  /url\(\s{0,99}(?:"([^"\n]{0,4096})"|'([^'\n]{0,4096})'|([^()"'\s]{0,4096}))\s{0,99}\)|@import\s{1,99}(?:"([^"\n]{0,4096})"|'([^'\n]{0,4096})')/gi;

/** The addresses in a style sheet, or in a `style` attribute. */
export function referencesOfStyle(text: string, offset = 0): Reference[] {
  const bare = withoutStyleComments(text);
  return Array.from(bare.matchAll(STYLE_REFERENCE), (match) => {
    const url = match.slice(1).find((group) => group !== undefined) ?? '';
    return { url: url.trim(), use: 'load', offset: offset + match.index };
  });
}

/** Comments become spaces, so that everything else stays where it is. */
function withoutStyleComments(text: string): string {
  if (!text.includes('/*')) return text;
  return text.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, (comment) => ' '.repeat(comment.length));
}
