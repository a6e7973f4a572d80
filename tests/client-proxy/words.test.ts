/** The seven words of a roaming file. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { drawWords, readWords, requireWords } from '../../client-proxy/identity/words.ts';

const FILE = readFileSync('client-proxy/identity/eff-large-wordlist.txt', 'utf8');
const LIST = FILE.trim()
  .split('\n')
  .map((line) => line.slice('11111 '.length));
const GOOD = 'abacus zoom drop-down enjoyably t-shirt yo-yo outskirts';

it('the list is the one that the EFF published, word for word', () => {
  expect(createHash('sha256').update(FILE).digest('hex')).toBe(
    'addd35536511597a02fa0a9ff1e5284677b8883b83e986e43f15a3db996b903e',
  );
});

describe('drawn words', () => {
  it('are seven of the list, and the same once in 2^90 times', () => {
    const drawn = Array.from({ length: 200 }, drawWords);
    expect(new Set(drawn).size).toBe(200);
    for (const words of drawn) expect(readWords(words)).toEqual({ words });
  });

  it('favour no part of the list', () => {
    const EIGHTHS = 8;
    const places = new Map(LIST.map((word, place) => [word, place]));
    const counts = Array<number>(EIGHTHS).fill(0);
    for (let draws = 0; draws < 4000; draws++)
      for (const word of drawWords().split(' ')) {
        const eighth = Math.floor(((places.get(word) ?? -1) * EIGHTHS) / LIST.length);
        counts[eighth] = (counts[eighth] ?? 0) + 1;
      }
    // 28,000 words, 3,500 for each eighth, standard deviation 55: eight of them away is no accident.
    for (const count of counts) expect(Math.abs(count - 3500)).toBeLessThan(440);
  });
});

describe('typed words', () => {
  it.each([
    ['as they were shown', GOOD],
    ['in capitals', GOOD.toUpperCase()],
    ['on several lines, with commas', GOOD.replaceAll(' ', ',\n  ')],
    ['with spaces around', `  ${GOOD}\t\r\n`],
  ])('%s are read', (_, typed) => expect(readWords(typed)).toEqual({ words: GOOD }));

  it.each([
    ['a letter changed', 'abacos', 'abacus'],
    ['a letter left out', 'outskrts', 'outskirts'],
    ['a letter too many', 'enjoyyably', 'enjoyably'],
    ['two letters exchanged', 'zomo', 'zoom'],
  ])('with %s: which word, and what it may be', (_, typed, meant) => {
    const { words, problem, advice } = readWords(GOOD.replace(meant, typed));
    expect(words).toBeUndefined();
    const place = GOOD.split(' ').indexOf(meant) + 1;
    expect(problem).toContain(`word ${place}`);
    expect(advice).toMatch(new RegExp(`word ${place} may be .*\\b${meant}\\b`));
  });

  it('are said to be like none of the list', () => {
    expect(readWords(GOOD.replace('zoom', 'qqqqqqqqqq')).advice).toContain('word 2 is like none of them');
  });

  it.each([
    ['six', GOOD.split(' ').slice(1).join(' '), '6 words'],
    ['eight', `${GOOD} zoom`, '8 words'],
    ['none', '  ', '0 words'],
    ['a novel', 'zoom '.repeat(100_000), 'longer'],
  ])('%s are refused', (_, typed, why) => expect(readWords(typed).problem).toContain(why));

  it('attack 93: an error that may come into a log repeats nothing of them', () => {
    const typed = GOOD.replace('abacus', 'abacos');
    try {
      requireWords(typed);
      expect.unreachable();
    } catch (error) {
      const said = JSON.stringify([(error as Error).message, error]);
      for (const word of [...typed.split(' '), 'abacus']) expect(said).not.toContain(word);
    }
  });
});
