/** Promises of rewriting for every document, whatever is in it and in whatever pieces it comes. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ParseError } from '@csstools/css-tokenizer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CssScanner, LONGEST_TOKEN } from '../../../client-proxy/gateway/css-scanner.ts';
import { DEEPEST_NAMESPACES, HtmlScanner, MOST_ATTRIBUTES } from '../../../client-proxy/gateway/html-scanner.ts';
import { GatewayLinks } from '../../../client-proxy/gateway/links.ts';
import { createRewriter } from '../../../client-proxy/gateway/rewriter.ts';
import { runs } from '../../support/tier.ts';

const SITE = 'http://news.example';
const ORIGIN = 'http://news-example-abc.localhost:8001';
const LINKS = new GatewayLinks(new Map([['news.example', ORIGIN]]));

/** Pieces that parsers trip over, in any order. */
const MARKUP = [
  ...'<>/="\'`&; \t\n\r\f\0!?#)}{aZ,\u00ff\u00c3\u0080\u00a0',
  ...['\r\n', '--', '\\ ', '\\\n', '\\a ', '&', '&amp;', '&#x2f;', '&sol', '//', 'http:', 'http://other.example'],
  ...['<a', ' href', '<a href="', '<img src=', ' srcset="', ' 2x', ' ping="', "<p style='", '</p>', '<pre>', '<table>'],
  ...['<style>', '</style>', '<script>', '</script>', '<!--', '-->', '<![CDATA[', ']]>', '<plaintext>', '<base href='],
  ...['<svg>', '</svg>', '<math>', '<title>', '</title>', '<textarea>', '<foreignObject>'],
  ...['<meta http-equiv=refresh content="0;', 'url(', 'url("', '@import "', 'image-set(', '/*', '*/'],
  ...['<link rel=stylesheet href=', SITE, `${SITE}/a`, `${SITE}?`],
];
/** Pieces that make a style of text, or do not, according to what they stand in. */
const STYLES = [
  ...['<svg>', '</svg>', '<math>', '<style>', '<style/>', '</style>'],
  ...['<a href="', '">', '\\\n', '/*', 'url(', SITE],
];
const document = fc
  .oneof(...[MARKUP, STYLES].map((parts) => fc.array(fc.constantFrom(...parts), { maxLength: 60 })))
  .map((parts) => parts.join(''));
const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });

interface Scanner {
  write(text: string): string;
  end(): string;
}

const SCANNERS: [string, () => Scanner][] = [
  ['HTML', () => new HtmlScanner(LINKS, (text) => text)],
  ['CSS', () => new CssScanner(LINKS, (text) => text)],
];

function inPieces(scanner: Scanner, text: string, lengths: readonly number[]): string {
  let out = '';
  let position = 0;
  for (let index = 0; position < text.length; index++) {
    const end = position + (lengths[index % lengths.length] ?? 1);
    out += scanner.write(text.slice(position, end));
    position = end;
  }
  return out + scanner.end();
}

describe.each(SCANNERS)('rewriting %s', (_, create) => {
  it('changes nothing but the beginnings of links', () => {
    fc.assert(
      fc.property(document, (text) => {
        const out = inPieces(create(), text, [text.length || 1]);
        expect(out.replaceAll(ORIGIN, SITE)).toBe(text);
      }),
      { numRuns: runs(60, 4_000) },
    );
  });

  it('gives the same in whatever pieces the document comes', () => {
    fc.assert(
      fc.property(document, pieces, (text, lengths) => {
        expect(inPieces(create(), text, lengths)).toBe(inPieces(create(), text, [text.length || 1]));
      }),
      { numRuns: runs(60, 4_000) },
    );
  });
});

describe('a document without end', () => {
  const PIECES = runs(50, 100);
  const LINK = `<a href="${SITE}/x"> `;
  const ENDLESS: [string, () => Scanner, string, string][] = [
    ['tag', SCANNERS[0]?.[1] as () => Scanner, LINK, '<a title="'],
    ['comment', SCANNERS[0]?.[1] as () => Scanner, LINK, '<!--'],
    ['word', SCANNERS[0]?.[1] as () => Scanner, LINK, 'a'],
    ['script', SCANNERS[0]?.[1] as () => Scanner, LINK, '<script>'],
    ['style', SCANNERS[0]?.[1] as () => Scanner, LINK, '<style>/*'],
    ['comment in CSS', SCANNERS[1]?.[1] as () => Scanner, `a{b:url(${SITE}/x)}`, '/*'],
    ['address in CSS', SCANNERS[1]?.[1] as () => Scanner, `a{b:url(${SITE}/x)}`, 'a{b:url(data:'],
  ];

  it.each(ENDLESS)('passes, and is not held: %s', (_, create, before, opening) => {
    const scanner = create();
    const piece = 'x'.repeat(65_536);
    let [taken, given] = [0, 0];
    let out = scanner.write(before + opening);
    taken += out.length;
    given += before.length + opening.length;
    for (let count = 0; count < PIECES; count++) {
      const part = scanner.write(piece);
      out += part;
      taken += part.length;
      given += piece.length;
      expect(given - taken).toBeLessThan(2 * LONGEST_TOKEN + 2 * piece.length);
    }
    out += scanner.end();
    expect(out).toBe(before.replace(SITE, ORIGIN) + opening + piece.repeat(PIECES));
  });

  it('with one long tag is the same in whatever pieces it comes; what follows the tag is as it was', async () => {
    const page = `${LINK}<img src="data:${'A'.repeat(LONGEST_TOKEN)}">${LINK}`;
    const expected = page.replace(SITE, ORIGIN);
    for (const length of [1_000, 65_536, 100_001, page.length]) {
      const parts = Array.from({ length: Math.ceil(page.length / length) }, (_, index) =>
        Buffer.from(page.slice(index * length, (index + 1) * length)),
      );
      const stream = Readable.from(parts).pipe(createRewriter({ kind: 'markup', charset: 'utf-8', links: LINKS }));
      expect((await buffer(stream)).toString() === expected).toBe(true);
    }
  });
});

describe('a hostile document takes a time in proportion to its length', () => {
  /** Length for which a time in proportion to its square would be some seconds. All shapes, and longer: tests/release/properties. */
  const LENGTH = 250_000;
  const times = (text: string) => text.repeat(Math.ceil(LENGTH / text.length));

  it.each([
    ['address in CSS', 'css', `url(x${times(' ')}y)`],
    ['list of pictures', 'markup', `<img srcset="${times(', ')}">`],
    ['nested SVG', 'markup', times('<svg>')],
    ['style of an element', 'markup', `<p style="${times('(')}">`],
  ] as const)('%s', async (_, kind, text) => {
    const stream = Readable.from([Buffer.from(text)]).pipe(createRewriter({ kind, charset: 'utf-8', links: LINKS }));
    expect((await buffer(stream)).toString() === text).toBe(true);
  });
});

describe('a document that nests or lists more than any page does', () => {
  const LINK = `<a href="${SITE}/x">`;
  const rewritten = LINK.replace(SITE, ORIGIN);

  it.each([
    ['namespaces', (count: number) => '<svg>'.repeat(count), DEEPEST_NAMESPACES - 1],
    [
      'attributes',
      (count: number) => `<p ${Array.from({ length: count }, (_, n) => `a${n}`).join(' ')}>`,
      MOST_ATTRIBUTES,
    ],
  ])('is rewritten up to a bound of %s, and passes as it is from there', (_, make, most) => {
    const whole = (text: string, length: number) => inPieces(new HtmlScanner(LINKS, (it) => it), text, [length]);
    for (const length of [7, 1_000_000]) {
      const [within, beyond] = [make(most), make(most + 1)];
      expect(whole(LINK + within + LINK, length) === rewritten + within + rewritten).toBe(true);
      expect(whole(LINK + beyond + LINK, length) === rewritten + beyond + LINK).toBe(true);
    }
  });
});

it.each(['"\n', "'\n", '\\\n', 'url(a"b)', 'url(a\\\n)'])(
  'a style sheet of nothing but mistakes, %j, takes no stack of any of them',
  (mistake) => {
    const COUNT = 1_000;
    const limit = Error.stackTraceLimit;
    const seen = { errors: 0, stacks: 0 };
    class CountedError extends Error {
      constructor(message?: string) {
        super(message);
        seen.errors++;
        if (this.stack?.includes('\n    at ')) seen.stacks++;
      }
    }
    Object.setPrototypeOf(ParseError, CountedError);
    try {
      const text = mistake.repeat(COUNT);
      expect(inPieces(new CssScanner(LINKS, (it) => it), text, [text.length]) === text).toBe(true);
    } finally {
      Object.setPrototypeOf(ParseError, Error);
    }
    expect(seen.errors).toBeGreaterThanOrEqual(COUNT);
    expect(seen.stacks).toBe(0);
    expect(Error.stackTraceLimit).toBe(limit);
  },
);
