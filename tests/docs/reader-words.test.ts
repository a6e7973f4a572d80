/** Texts for readers: in their words, and in few. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WORDS } from '../../keyserver/reading-site/pages.ts';
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

/** Returns what a program writes into pages: strings of more than one word, without the code in templates. */
function wordsOf(source: string): string[] {
  const bare = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(?:^|\s)\/\/ .*$/gm, '');
  const strings = bare.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? [];
  return strings
    .map((text) => text.replace(/\$\{[^}]*\}|<%[\s\S]*?%>|<[^>]*>/g, ' '))
    .filter((text) => /\S\s+\S/.test(text));
}

describe('no page of a reader names what is behind it', () => {
  it.each(globSync('words/*/*.ts'))('%s', (file) => {
    expect(wordsOf(readFileSync(file, 'utf8')).flatMap(unwantedIn)).toEqual([]);
  });

  it('the teaser', () => expect(unwantedIn(Object.values(wordsFor('en', 'read.example')).join(' '))).toEqual([]));
});

describe('sentences stand in words/ alone', () => {
  /** Begins as a sentence does. */
  const SENTENCE = /(?:^['`\s]*|[.>] )[A-Z][a-z’]+,? [a-z]/;
  const SOURCES = '{client-proxy/pages,keyserver/{mail,reading-site},reading,web-reader}/**/*.{js,ts}';

  it('not in the code of readers', () => {
    const found = globSync(SOURCES).flatMap((file) =>
      wordsOf(readFileSync(file, 'utf8').replaceAll('\\n', ' ')).filter((text) => SENTENCE.test(text)),
    );
    expect(found).toEqual([]);
  });

  it.each(globSync('keyserver/{mail,reading-site}/{pages,templates}/*.eta'))('not in %s', (file) => {
    const template = readFileSync(file, 'utf8').replace(/<%[\s\S]*?%>/g, '');
    const attributes = Array.from(
      template.matchAll(/\b(?:alt|aria-label|placeholder|title)="([^"]*)"/g),
      ([, text]) => text,
    );
    expect([template.replace(/<[^>]*>/g, ' '), ...attributes].join(' ')).not.toMatch(/[a-z]{2}/);
  });

  it('a page finds each sentence that it names, and none is left over', () => {
    const used = new Set<unknown>();
    for (const [template, words] of Object.entries(WORDS)) {
      const text = readFileSync(`keyserver/reading-site/pages/${template}.eta`, 'utf8');
      const names = Array.from(text.matchAll(/\bt\.(\w+)/g), ([, name = '']) => name);
      expect(names.filter((name) => !(name in words))).toEqual([]);
      for (const name of names) used.add(words[name]);
    }
    const code = globSync(SOURCES)
      .map((file) => readFileSync(file, 'utf8'))
      .join('');
    const left = Object.values(WORDS).flatMap((words) =>
      Object.entries(words).filter(([name, said]) => !used.has(said) && !new RegExp(`\\.${name}\\b`).test(code)),
    );
    expect(left.map(([name]) => name)).toEqual([]);
  });
});

describe('a refusal', () => {
  const refused = [REFUSALS, READER_REFUSALS, READING_SITE.refused].flatMap((texts) => Object.values(texts));
  const all = [DAMAGED, ...refused];
  const texts = all.flatMap((refusal) => (refusal ? [[refusal.title, refusal.lead] as const] : []));

  it.each(texts)('is short, and in readers’ words: %s', (title, text) => {
    expect(unwantedIn(`${title}. ${text}`)).toEqual([]);
    expect(title.split(' ').length).toBeLessThanOrEqual(12);
    expect(text.split(' ').length).toBeLessThanOrEqual(45);
    expect(text).not.toContain('this computer'); // readers have phones too
  });
});
