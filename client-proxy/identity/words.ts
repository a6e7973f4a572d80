/**
 * The seven words that open a roaming file: 7 of 7,776, which is 90 bits. eff-large-wordlist.txt is the EFF's Large Wordlist for Passphrases as it
 * was published, by Joseph Bonneau and the Electronic Frontier Foundation, 2016 (https://www.eff.org/dice), under the licence Creative Commons
 * Attribution 3.0 United States: in each line the numbers of five dice, and a word.
 */
import { randomBytes } from '#primitives';
import { lazily } from '../../node-support/lazily.ts';
import { nearestWords } from '../../node-support/nearest-words.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { ReaderError } from '../errors.ts';

const WORD_COUNT = 7;
const wordList = lazily((): readonly string[] => {
  const text = readProgramFile('eff-large-wordlist.txt', import.meta.url);
  return text.toString().trim().split('\n').map((line) => line.split('\t')[1] ?? ''); // biome-ignore format: one pipeline
});
const known = lazily((): ReadonlySet<string> => new Set(wordList()));
/** Characters beyond what a person types by mistake. */
const MAXIMUM_TYPED = 400;

/** Draws seven words from the system's random numbers, each as likely as any other. */
export function drawWords(): string {
  return Array.from({ length: WORD_COUNT }, drawWord).join(' ');
}

/** Draws 13 bits at a time, and again what lies beyond the list, so that no word is likelier than another. */
function drawWord(): string {
  for (;;) {
    const [high = 0, low = 0] = randomBytes(2);
    const word = wordList()[((high & 0x1f) << 8) | low];
    if (word !== undefined) return word;
  }
}

export interface TypedWords {
  /** Words in the one spelling that Argon2id is given: lower case, one space between; only if nothing is wrong. */
  readonly words?: string;
  /** Problem of the text, without repeating what was typed: for logs. */
  readonly problem?: string;
  /** Text of `problem`, with the nearest words of the list: for the eyes of the person who typed them only. */
  readonly advice?: string;
}

/** Reads words as people type them: any case, spaces, line ends and commas between. */
export function readWords(typed: string): TypedWords {
  if (typed.length > MAXIMUM_TYPED) return { problem: `this is longer than ${WORD_COUNT} words can be` };
  const words = typed.normalize('NFKC').toLowerCase().split(/[\s,]+/).filter((word) => word !== ''); // biome-ignore format: one pipeline
  const unknown = words.map((word, index) => ({ word, place: index + 1 })).filter(({ word }) => !known().has(word));
  if (unknown.length > 0) {
    const places = unknown.map(({ place }) => place).join(', ');
    const problem = `not in the list of words: word ${places}`;
    return { problem, advice: [problem, ...unknown.map(adviceFor)].join('; ') };
  }
  if (words.length === WORD_COUNT) return { words: words.join(' ') };
  return { problem: `these are ${words.length} words, not ${WORD_COUNT}` };
}

/** @throws ReaderError `argument-invalid`; its message repeats nothing of what was typed */
export function requireWords(typed: string): string {
  const { words, problem } = readWords(typed);
  if (words !== undefined) return words;
  throw new ReaderError('argument-invalid', `these are not the words of a roaming file: ${problem}`, { typed: true });
}

function adviceFor({ word, place }: { readonly word: string; readonly place: number }): string {
  const near = nearestWords(word, wordList());
  return near.length === 0 ? `word ${place} is like none of them` : `word ${place} may be ${near.join(' or ')}`;
}
