/** Shortens texts that are shown to people who may not read the rest, where a reader would. */

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function firstSentence(text: string): string {
  const [first] = SENTENCES.segment(text);
  return first?.segment.trim() ?? '';
}

/**
 * A text in at most `length` UTF-16 code units: between two words, or two characters as people see them, and with an ellipsis where
 * something is left out.
 */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const space = text.lastIndexOf(' ', length - 1);
  const end = space >= length / 2 ? space : (CHARACTERS.segment(text).containing(length - 1)?.index ?? 0);
  return `${text.slice(0, end)}…`;
}
