/**
 * One text behind another: an attribute's value with its character references, a CSS string with its escapes. Links are found in the text
 * that is meant, and changed in the one that is written, so that everything around them keeps its spelling.
 */
import { DecodingMode, HtmlEntityDecoder } from 'entities/decode';
import type { Edit } from './links.ts';

/** A text that is meant, and where each of its UTF-16 units is written. */
export interface Spelled {
  readonly text: string;
  /** For each unit of the text where its spelling begins, and at last where the whole ends; `undefined`: spelled as it is. */
  readonly positions: readonly number[] | undefined;
}

export function plain(text: string): Spelled {
  return { text, positions: undefined };
}

/** Where an edit of what is meant has to be made in what is written. */
export function editOfSpelling({ positions }: Spelled, { start, end, text }: Edit, offset = 0): Edit {
  const at = (index: number) => offset + (positions?.[index] ?? index);
  return { start: at(start), end: at(end), text };
}

/** The value of an attribute. https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state */
export function readAttribute(written: string): Spelled {
  if (!written.includes('&')) return plain(written);
  const builder = new Builder();
  let position = 0;
  const decoder = new HtmlEntityDecoder((codePoint) => builder.add(String.fromCodePoint(codePoint), position));
  while (position < written.length) {
    if (written[position] !== '&') {
      builder.add(written[position] ?? '', position);
      position += 1;
      continue;
    }
    decoder.startEntity(DecodingMode.Attribute);
    const consumed = decoder.write(written, position + 1);
    const length = consumed < 0 ? decoder.end() : consumed;
    if (length === 0) builder.add('&', position);
    position += Math.max(1, length);
  }
  return builder.end(written.length);
}

/** The inside of a CSS string or of an unquoted `url()`. https://drafts.csswg.org/css-syntax/#consume-escaped-code-point */
export function readCssEscapes(written: string): Spelled {
  if (!written.includes('\\')) return plain(written);
  const builder = new Builder();
  const parts = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|[\r\n\f])|(.))|./gis;
  for (const { 0: part, 1: hex, 2: lineEnd, 3: character, index } of written.matchAll(parts)) {
    if (lineEnd === undefined) builder.add(hex === undefined ? (character ?? part) : characterOf(hex), index);
  }
  return builder.end(written.length);
}

/** What browsers drop of a URL before they read it. */
export function withoutLineEnds(spelled: Spelled): Spelled {
  const { text, positions } = spelled;
  if (!/[\t\r\n]/.test(text)) return spelled;
  const builder = new Builder();
  for (let index = 0; index < text.length; index++) {
    if (!/[\t\r\n]/.test(text[index] ?? '')) builder.add(text[index] ?? '', positions?.[index] ?? index);
  }
  return builder.end(positions?.at(-1) ?? text.length);
}

/** A part of what is meant. */
export function sliceSpelled({ text, positions }: Spelled, start: number, end = text.length): Spelled {
  return {
    text: text.slice(start, end),
    positions: Array.from({ length: end - start + 1 }, (_, index) => positions?.[start + index] ?? start + index),
  };
}

function characterOf(hex: string): string {
  const codePoint = Number.parseInt(hex, 16);
  const isNone = codePoint === 0 || codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff);
  return isNone ? '\ufffd' : String.fromCodePoint(codePoint);
}

class Builder {
  readonly #positions: number[] = [];
  #text = '';

  add(meant: string, position: number): void {
    this.#text += meant;
    for (let unit = 0; unit < meant.length; unit++) this.#positions.push(position);
  }

  end(position: number): Spelled {
    this.#positions.push(position);
    return { text: this.#text, positions: this.#positions };
  }
}
