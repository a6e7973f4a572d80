/** The seven words that open a roaming file: 7 of 7,776, which is 90 bits. */
import { randomBytes } from '#primitives';
import { ReaderError } from '../errors.ts';
import { EFF_LARGE_WORDLIST } from './eff-large-wordlist.ts';

const WORD_COUNT = 7;
const WORDS: readonly string[] = EFF_LARGE_WORDLIST.trim().split(/\s+/);
const KNOWN: ReadonlySet<string> = new Set(WORDS);
/** More than anybody types by mistake. */
const MAXIMUM_TYPED = 400;
const NEAREST_SHOWN = 3;
/** A word that differs more is another word. */
const MAXIMUM_DISTANCE = 2;

/** Seven words from the system's random numbers, each as likely as any other. */
export function drawWords(): string {
  return Array.from({ length: WORD_COUNT }, drawWord).join(' ');
}

/** 13 bits at a time; what lies beyond the list is drawn again, so that no word is likelier than another. */
function drawWord(): string {
  for (;;) {
    const [high = 0, low = 0] = randomBytes(2);
    const word = WORDS[((high & 0x1f) << 8) | low];
    if (word !== undefined) return word;
  }
}

/** What is wrong with words as they were typed. */
export interface TypedWords {
  /** In the one spelling that Argon2id is given: lower case, one space between; only if nothing is wrong. */
  readonly words?: string;
  /** What is wrong, without repeating what was typed: for logs. */
  readonly problem?: string;
  /** As `problem`, with the nearest words of the list: for the eyes of who typed them only. */
  readonly advice?: string;
}

/** Reads words as people type them: any case, spaces, line ends and commas between. */
export function readWords(typed: string): TypedWords {
  if (typed.length > MAXIMUM_TYPED) return { problem: `this is longer than ${WORD_COUNT} words can be` };
  const words = typed.normalize('NFKC').toLowerCase().split(/[\s,]+/).filter((word) => word !== ''); // biome-ignore format: one pipeline
  const unknown = words.map((word, index) => ({ word, place: index + 1 })).filter(({ word }) => !KNOWN.has(word));
  if (unknown.length > 0) {
    const places = unknown.map(({ place }) => place).join(', ');
    const problem = `not in the list of words: word ${places}`;
    return { problem, advice: [problem, ...unknown.map(adviceFor)].join('; ') };
  }
  if (words.length === WORD_COUNT) return { words: words.join(' ') };
  return { problem: `these are ${words.length} words, not ${WORD_COUNT}` };
}

/** @throws ReaderError `words-mistyped`; its message repeats nothing of what was typed */
export function requireWords(typed: string): string {
  const { words, problem } = readWords(typed);
  if (words !== undefined) return words;
  throw new ReaderError('words-mistyped', `these are not the words of a roaming file: ${problem}`, {
    typed: true,
    hint: 'compare them with what you wrote down; there are seven, with spaces between',
  });
}

function adviceFor({ word, place }: { readonly word: string; readonly place: number }): string {
  const near = nearestWords(word);
  return near.length === 0 ? `word ${place} is like none of them` : `word ${place} may be ${near.join(' or ')}`;
}

/** The words of the list that differ least from what was typed, if any is near. */
function nearestWords(typed: string): string[] {
  const near = WORDS.filter((word) => Math.abs(word.length - typed.length) <= MAXIMUM_DISTANCE)
    .map((word) => ({ word, distance: distanceBetween(word, typed) }))
    .filter(({ distance }) => distance <= MAXIMUM_DISTANCE);
  const least = Math.min(...near.map(({ distance }) => distance));
  return near
    .filter(({ distance }) => distance === least)
    .slice(0, NEAREST_SHOWN)
    .map(({ word }) => word);
}

/** Optimal string alignment: letters left out, put in, changed, or two exchanged. */
function distanceBetween(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const exchanged =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row[j] = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change, exchanged);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
