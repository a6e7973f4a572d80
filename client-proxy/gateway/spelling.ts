/**
 * Texts behind others: an attribute's value with its character references, a CSS string with its escapes. Links are found in the text
 * that is meant, and changed in the one that is written, so that everything around them keeps its spelling.
 */
import { DecodingMode, HtmlEntityDecoder } from 'entities/decode';
import type { Edit } from './links.ts';

/** A text that is meant, and where each of its UTF-16 units is written. */
export interface Spelled {
  readonly text: string;
  /** `undefined`: the text is written as it is meant. */
  readonly places: UnitOffsets | undefined;
}

/** Offsets at which the spelling of each unit begins and ends. Between two units may stand what means nothing, such as an escaped line end. */
interface UnitOffsets {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Turns an edit of what is meant into one of what is written. What means nothing before and behind it stays. */
export function editOfSpelling({ places }: Spelled, { start, end, text }: Edit, offset = 0): Edit {
  return { start: offset + (places?.starts[start] ?? start), end: offset + (places?.ends[end - 1] ?? end), text };
}

/** The value of an attribute. https://html.spec.whatwg.org/multipage/parsing.html#character-reference-state */
export function readAttribute(written: string): Spelled {
  if (!written.includes('&')) return { text: written, places: undefined };
  const builder = new Builder();
  let meant = '';
  const decoder = new HtmlEntityDecoder((codePoint) => {
    meant += String.fromCodePoint(codePoint);
  });
  for (let position = 0; position < written.length; ) {
    let length = 0;
    if (written[position] === '&') {
      meant = '';
      decoder.startEntity(DecodingMode.Attribute);
      length = decoder.write(written, position + 1);
      if (length < 0) length = decoder.end();
    }
    if (length === 0) meant = written[position] ?? '';
    builder.add(meant, position, position + Math.max(1, length));
    position += Math.max(1, length);
  }
  return builder.spelled();
}

/** The inside of a CSS string or of an unquoted `url()`. https://drafts.csswg.org/css-syntax/#consume-escaped-code-point */
export function readCssEscapes(written: string): Spelled {
  if (!written.includes('\\')) return { text: written, places: undefined };
  const builder = new Builder();
  const parts = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|[\r\n\f])|(.))|./gis;
  for (const { 0: part, 1: hex, 2: lineEnd, 3: character, index } of written.matchAll(parts)) {
    const meant = hex === undefined ? (character ?? part) : characterOf(hex);
    if (lineEnd === undefined) builder.add(meant, index, index + part.length);
  }
  return builder.spelled();
}

/** Drops tabs and line ends, as browsers do before they parse a URL. */
export function withoutLineEnds(spelled: Spelled): Spelled {
  const { text, places } = spelled;
  if (!/[\t\r\n]/.test(text)) return spelled;
  const builder = new Builder();
  for (const { 0: character, index } of text.matchAll(/[^\t\r\n]/g))
    builder.add(character, places?.starts[index] ?? index, places?.ends[index] ?? index + 1);
  return builder.spelled();
}

/** A part of what is meant. */
export function sliceSpelled({ text, places }: Spelled, start: number, end = text.length): Spelled {
  const units = Array.from({ length: places ? 0 : end - start }, (_, index) => start + index);
  const starts = places?.starts.slice(start, end) ?? units;
  const ends = places?.ends.slice(start, end) ?? units.map((unit) => unit + 1);
  return { text: text.slice(start, end), places: { starts, ends } };
}

function characterOf(hex: string): string {
  const codePoint = Number.parseInt(hex, 16);
  const isNone = codePoint === 0 || codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff);
  return isNone ? '\ufffd' : String.fromCodePoint(codePoint);
}

class Builder {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #text = '';

  add(meant: string, start: number, end: number): void {
    this.#text += meant;
    for (let unit = 0; unit < meant.length; unit++) {
      this.#starts.push(start);
      this.#ends.push(end);
    }
  }

  spelled(): Spelled {
    return { text: this.#text, places: { starts: this.#starts, ends: this.#ends } };
  }
}
