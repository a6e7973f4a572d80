/** What readers are told: in their words, and in few. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DAMAGED, REFUSALS } from '../../reading/refusals.ts';
import { wordsFor } from '../../teaser/words.ts';
import { REFUSED as READER_REFUSALS } from '../../words/en/reader-refusals.ts';
import { READING_SITE } from '../../words/en/reading-site.ts';

/** Nouns of this project that readers need not know, and phrases that have a better one. */
const UNWANTED = [
  /\b(?:a|the|of|each|which|this) sets?\b|\bsets (?:of|named)\b/i,
  /\bpublication/i,
  /\bcontent hosts?\b/i,
  /\bkey servers?\b/i,
  /\bconfirmed\b/i,
  /\bLook at it\b/,
  /\bdo not fit together\b/,
  /\bis not good\b/,
  /\bcounts from\b|\bwhich counts\b/,
  /\bare not concerned\b/,
  /\bwithout end\b/,
  /\bVerified lately\b/,
  /\bTo your sites\b/,
  /\ba newer word\b/,
  /\bagain and again\b/,
  /\blet go of its keys\b/,
  /\ba passing one\b/,
];

const unwantedIn = (text: string) => UNWANTED.filter((each) => each.test(text)).map(String);

/** What a program writes into pages: its strings of more than one word, without the code in templates. */
function wordsOf(source: string): string[] {
  const bare = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(?:^|\s)\/\/ .*$/gm, '');
  const strings = bare.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? [];
  return strings
    .map((text) => text.replace(/\$\{[^}]*\}|<%[\s\S]*?%>|<[^>]*>/g, ' '))
    .filter((text) => /\S\s+\S/.test(text));
}

describe('no page of a reader names what is behind it', () => {
  it.each(globSync('{client-proxy/pages,words/en}/*.ts').filter((file) => !/\/(?:style|guard)\.ts$/.test(file)))(
    '%s',
    (file) => {
      const found = wordsOf(readFileSync(file, 'utf8')).flatMap((text) => unwantedIn(text).map((word) => [word, text]));
      expect(found).toEqual([]);
    },
  );

  it.each(globSync('keyserver/reading-site/pages/*.eta'))('%s', (file) => {
    expect(unwantedIn(readFileSync(file, 'utf8').replace(/<%[\s\S]*?%>|<[^>]*>/g, ' '))).toEqual([]);
  });

  it.each(['about', 'worker/pages', 'worker/own-pages', 'sheet/main', 'sheet/library'])('web-reader/%s', (name) => {
    expect(wordsOf(readFileSync(`web-reader/${name}.ts`, 'utf8')).flatMap(unwantedIn)).toEqual([]);
  });

  it.each(globSync('reading/refusal*.ts'))('%s', (file) => {
    expect(wordsOf(readFileSync(file, 'utf8')).flatMap(unwantedIn)).toEqual([]);
  });

  it('the teaser', () => expect(unwantedIn(Object.values(wordsFor('en', 'read.example')).join(' '))).toEqual([]));
});

describe('a refusal', () => {
  const refused = [REFUSALS, READER_REFUSALS, READING_SITE.refused].flatMap((texts) => Object.values(texts));
  const all = [DAMAGED, ...refused];
  const texts = all.flatMap((refusal) => (refusal ? [[refusal.title, refusal.lead] as const] : []));

  it.each(texts)('is short, and in readers’ words: %s', (title, text) => {
    expect(unwantedIn(`${title}. ${text}`)).toEqual([]);
    expect(title.split(' ').length).toBeLessThanOrEqual(12);
    expect(text.split(' ').length).toBeLessThanOrEqual(45);
    expect(text).not.toContain('this computer'); // nor is it always one
  });
});
