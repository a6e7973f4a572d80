/** Absolute links in the attributes of one HTML or SVG element: which attributes have links, and where in their values. */
import { SRCSET_CANDIDATE } from '../../core/site/srcset.ts';
import { type DecodeBytes, editsOfStyle } from './css-scanner.ts';
import { type Edit, editsOfPolicy, type GatewayLinks, keepsStyles } from './links.ts';
import { editOfSpelling, readAttribute, type Spelled, sliceSpelled, withoutLineEnds } from './spelling.ts';

interface Attribute {
  readonly name: string;
  /** Read only where it matters: a picture in an attribute can be long. */
  readonly value: () => Spelled;
  readonly start: number;
}

export interface WrittenAttribute {
  readonly written: string;
  readonly start: number;
}

/** State of a document that decides how its attributes are rewritten. */
export interface PageState {
  readonly links: GatewayLinks;
  readonly decode: DecodeBytes;
  /** Styles stay as they are: a content security policy knows them by their hash. */
  keepsStyles: boolean;
  /** A `<base>` was there: relative links may lead anywhere. */
  hasBase: boolean;
}

type FindLinks = (value: Spelled, page: PageState) => Edit[];

const LINK_ATTRIBUTES: Readonly<Record<string, FindLinks>> = {
  action: one,
  background: one,
  cite: one,
  formaction: one,
  href: one,
  'xlink:href': one,
  poster: one,
  src: one,
  ping: several(/([^\t\n\f\r ]+)/dg),
  srcset: several(SRCSET_CANDIDATE),
  imagesrcset: several(SRCSET_CANDIDATE),
  style: (value, { links, decode, keepsStyles }) => {
    const edits = keepsStyles ? [] : editsOfStyle(value.text, links, decode);
    return edits.map((edit) => editOfSpelling(value, edit));
  },
};

/** Relations that say how the document is called in public; nothing follows them to show it. */
const PUBLIC_NAMES = /(?:^|\s)(?:canonical|shortlink)(?:$|\s)/i;
const ATTRIBUTE =
  /^([^\t\n\f\r /=>][^\t\n\f\r /=>]*)[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >"'][^\t\n\f\r >]*))$/;
/** https://html.spec.whatwg.org/multipage/semantics.html#shared-declarative-refresh-steps */
const REFRESH =
  /^[\t\n\f\r ]*[\d.]*(?:[\t\n\f\r ]*[;,][\t\n\f\r ]*|[\t\n\f\r ]+)(?:url[\t\n\f\r ]*=[\t\n\f\r ]*)?["']?/i;

/** The edits that keep an element's links in the gateway, in order. @param tag - its name in lower case */
export function editsOfTag(tag: string, written: readonly WrittenAttribute[], page: PageState): Edit[] {
  const attributes = written.flatMap((attribute) => read(attribute) ?? []);
  const meaningOf = (name: string) => attributes.find((attribute) => attribute.name === name)?.value().text ?? '';
  const edits = attributes.flatMap((attribute) =>
    linksOf(tag, attribute, meaningOf, page).map((edit) => ({
      ...edit,
      start: attribute.start + edit.start,
      end: attribute.start + edit.end,
    })),
  );
  if (tag === 'base' && meaningOf('href') !== '') page.hasBase = true;
  return edits.sort((one, other) => one.start - other.start);
}

function linksOf(
  tag: string,
  { name, value }: Attribute,
  meaningOf: (name: string) => string,
  page: PageState,
): Edit[] {
  if (tag === 'meta')
    return name === 'content' ? linksOfMeta(value(), meaningOf('http-equiv').toLowerCase(), page) : [];
  if (name === 'data') return tag === 'object' ? one(value(), page) : [];
  if (tag === 'link' && name === 'href' && PUBLIC_NAMES.test(meaningOf('rel'))) return [];
  if (tag === 'link' && name === 'integrity') return withoutIntegrity(value(), meaningOf('href'), page);
  return Object.hasOwn(LINK_ATTRIBUTES, name) ? (LINK_ATTRIBUTES[name]?.(value(), page) ?? []) : [];
}

function linksOfMeta(value: Spelled, pragma: string, page: PageState): Edit[] {
  if (pragma === 'refresh') {
    const before = REFRESH.exec(value.text)?.[0].length;
    return before === undefined ? [] : one(sliceSpelled(value, before), page);
  }
  if (pragma !== 'content-security-policy') return [];
  if (keepsStyles(value.text)) page.keepsStyles = true;
  return editsOfPolicy(value.text, page.links).map((edit) => editOfSpelling(value, edit));
}

/** A changed style sheet would not have its hash any more; the publication knows every byte of the site's own. */
function withoutIntegrity(value: Spelled, href: string, { links, hasBase }: PageState): Edit[] {
  const isOwn =
    links.edit(href) !== undefined || (!hasBase && !/^[\0-\x20]*(?:[a-z][a-z0-9+.-]*:|[/\\]\s*[/\\])/i.test(href));
  return isOwn && value.text !== '' ? [editOfSpelling(value, { start: 0, end: value.text.length, text: '' })] : [];
}

function one(value: Spelled, { links, decode }: PageState): Edit[] {
  const meant = withoutLineEnds(value);
  const edit = links.edit(meant.text, decode);
  return edit ? [editOfSpelling(meant, edit)] : [];
}

/** @param pattern - its first group is an address; with the flag `d` */
function several(pattern: RegExp): FindLinks {
  return (value, page) =>
    Array.from(value.text.matchAll(pattern)).flatMap(({ indices }) =>
      one(sliceSpelled(value, ...(indices?.[1] ?? [0, 0])), page),
    );
}

/** Finds where the value is written; returns nothing where there is none, or where the text is not what the parser saw. */
function read({ written, start }: WrittenAttribute): Attribute | undefined {
  const [all, name = '', quoted, apostrophed, bare] = ATTRIBUTE.exec(written) ?? [];
  const value = quoted ?? apostrophed ?? bare;
  if (all === undefined || value === undefined) return undefined;
  const end = all.length - (bare === undefined ? 1 : 0);
  return { name: name.toLowerCase(), value: () => readAttribute(value), start: start + end - value.length };
}
