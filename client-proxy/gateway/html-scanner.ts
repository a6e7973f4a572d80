/**
 * Absolute links in a streaming HTML or SVG document. A kept parser says where tags and attributes are; what is sent is the text as it came,
 * with the links changed in it. So nothing else can change, whatever the parser makes of a page.
 */
import { type EndTag, SAXParser, type SaxToken, type StartTag } from 'parse5-sax-parser';
import { editsOfTag, type PageState, type WrittenAttribute } from './attribute-links.ts';
import { CssScanner, type DecodeBytes, LONGEST_TOKEN } from './css-scanner.ts';
import { applyEdits, type Edit, type GatewayLinks } from './links.ts';

type TagLocation = Span & { readonly attrs?: Readonly<Record<string, Span>> };

interface Span {
  readonly startOffset: number;
  readonly endOffset: number;
}

/** Length of the text that the parser buffers before it reports it. */
const HELD_TEXT = 131_072;

/** Bounds beyond which the parser takes the square of the number: namespaces within each other, and attributes of one tag. */
export const DEEPEST_NAMESPACES = 1_000;
export const MOST_ATTRIBUTES = 1_000;

/** Finds and changes the links of one document; text goes in piece by piece, one character for each byte, and comes out changed. */
export class HtmlScanner {
  readonly #parser = new SynchronousParser();
  readonly #page: PageState;
  #pending = '';
  #position = 0;
  #out = '';
  #style: CssScanner | undefined;
  #gaveUp = false;

  constructor(links: GatewayLinks, decode: DecodeBytes, keepsStyles = false) {
    this.#page = { links, decode, keepsStyles, hasBase: false };
    const pass = (token: SaxToken) => this.#pass(token);
    this.#parser.on('startTag', (tag) => this.#startTag(tag));
    this.#parser.on('endTag', (tag) => this.#endTag(tag));
    for (const event of ['text', 'comment', 'doctype']) this.#parser.on(event, pass);
  }

  write(text: string): string {
    this.#pending += text;
    if (!this.#gaveUp) this.#parser.feed(text);
    if (this.#pending.length > LONGEST_TOKEN + HELD_TEXT || this.#parser.isOverloaded()) this.#gaveUp = true;
    if (this.#gaveUp) this.#leave(this.#position + this.#pending.length);
    return this.#taken();
  }

  end(): string {
    if (!this.#gaveUp) this.#parser.finish();
    this.#leave(this.#position + this.#pending.length);
    this.#endStyle();
    return this.#taken();
  }

  #startTag({ tagName, attrs, sourceCodeLocation }: StartTag): void {
    const location: TagLocation | null | undefined = sourceCodeLocation;
    this.#gaveUp ||= this.#parser.isOverloaded(attrs.length);
    if (!location) return;
    // A tag that is longer than the bound ends it in any case, wherever the pieces end.
    this.#gaveUp ||= location.endOffset - location.startOffset > LONGEST_TOKEN;
    if (this.#gaveUp) return;
    this.#leaveStyle(location.startOffset);
    const attributes = attrs.flatMap(({ name, prefix }): WrittenAttribute[] => {
      const place = location.attrs?.[prefix ? `${prefix}:${name}` : name] ?? location.attrs?.[name.toLowerCase()];
      return place ? [{ written: this.#written(place), start: place.startOffset }] : [];
    });
    this.#leave(location.endOffset, editsOfTag(tagName.toLowerCase(), attributes, this.#page));
    const { links, decode, keepsStyles } = this.#page;
    if (tagName === 'style' && !keepsStyles) this.#style = new CssScanner(links, decode);
  }

  /** Ends a style at a tag. A tag can stand in a `<style>`, or a `<style/>` be without end, in SVG and MathML: what begins there is no CSS. */
  #leaveStyle(end: number): void {
    if (!this.#style) return;
    this.#leave(end);
    this.#endStyle();
  }

  #endTag({ tagName, sourceCodeLocation: location }: EndTag): void {
    if (tagName === 'style') this.#endStyle();
    this.#pass({ sourceCodeLocation: location ?? null });
  }

  #endStyle(): void {
    this.#out += this.#style?.end() ?? '';
    this.#style = undefined;
  }

  #pass({ sourceCodeLocation: location }: SaxToken): void {
    if (location && !this.#gaveUp) this.#leave(location.endOffset);
  }

  #written({ startOffset, endOffset }: Span): string {
    return this.#pending.slice(startOffset - this.#position, endOffset - this.#position);
  }

  /** Lets everything up to a place in the document leave. */
  #leave(end: number, edits: readonly Edit[] = []): void {
    const length = Math.max(0, end - this.#position);
    const text = this.#pending.slice(0, length);
    const moved = edits.map((one) => ({ ...one, start: one.start - this.#position, end: one.end - this.#position }));
    this.#pending = this.#pending.slice(length);
    this.#position += text.length;
    this.#out += this.#style ? this.#style.write(text) : applyEdits(text, moved);
  }

  #taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }
}

/** Parser that is a stream, but does its work at once. */
class SynchronousParser extends SAXParser {
  constructor() {
    super({ sourceCodeLocationInfo: true });
  }

  /** @param attributes - of the tag that is being read */
  isOverloaded(attributes = this.#attributesSoFar()): boolean {
    // biome-ignore lint/complexity/useLiteralKeys: the parser does not offer it, and its pinned version has it
    const { length } = this.parserFeedbackSimulator['namespaceStack'];
    return attributes > MOST_ATTRIBUTES || length > DEEPEST_NAMESPACES;
  }

  #attributesSoFar(): number {
    // biome-ignore lint/complexity/useLiteralKeys: as above
    const token = this.tokenizer['currentToken'];
    return token && 'attrs' in token ? token.attrs.length : 0;
  }

  feed(text: string): void {
    this._transformChunk(text);
  }

  finish(): void {
    this._final(() => undefined);
  }
}
