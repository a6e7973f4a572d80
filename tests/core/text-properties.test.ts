/** Properties of every path and of every piece of canonical JSON. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { canonicalJson, type Json, parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import { documentPathOf, isDocumentPath, urlPathOf } from '../../core/site/path.ts';
import { runs } from '../support/tier.ts';

const segment = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 12 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a segment may not have
  .filter((text) => text !== '.' && text !== '..' && !/[/\\\u0000-\u001f\u007f]/.test(text));
const documentPath = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => `/${segments.join('/')}`);
const piece = fc.constantFrom(' ', ...'/ // . .. %2e %2F %5c \\ % %00 %C3%A9 %c3 é a index.html ? # %25'.split(' '));
const urlPath = fc.oneof(
  fc
    .array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 8 })
    .map((parts) => `/${parts.join('')}`),
  fc.string({ unit: 'binary' }),
);

describe('paths', () => {
  it('attack 88: a document has one URL for fetching, which names it and no other', () => {
    fc.assert(
      fc.property(documentPath, (path) => {
        expect(isDocumentPath(path)).toBe(true);
        expect(documentPathOf(urlPathOf(path))).toBe(path);
        expect(urlPathOf(path)).toMatch(/^[A-Za-z0-9._~%/-]+$/);
      }),
    );
  });

  it('attack 88: WHATWG URL leaves the URL for fetching as it is', () => {
    fc.assert(
      fc.property(documentPath, (path) => {
        expect(new URL(`http://news.example${urlPathOf(path)}`).pathname).toBe(urlPathOf(path));
      }),
    );
  });

  it('attack 88: every spelling of a URL names one document or is refused', () => {
    fc.assert(
      fc.property(urlPath, (url) => {
        const path = documentPathOf(url);
        if (path === undefined) return;
        expect(isDocumentPath(path)).toBe(true);
        expect(documentPathOf(urlPathOf(path))).toBe(path);
        expect(path).not.toMatch(/\/\.{0,2}(?:\/|$)/);
      }),
      { numRuns: runs(500, 2000) },
    );
  });
});

const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.maxSafeNat(),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 5 }), tie('value'), { maxKeys: 4 }),
  ),
}));

describe('canonical JSON', () => {
  it('gives every value back', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(parseCanonicalJson(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  it('does not depend on the order in which members were made', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.nat())), (members) => {
        const unique = [...new Map(members)];
        const [one, other] = [Object.fromEntries(unique), Object.fromEntries(unique.toReversed())];
        expect(Buffer.compare(canonicalJson(one), canonicalJson(other))).toBe(0);
      }),
    );
  });

  it('attack 4: no altered bytes mean the same value, and what is accepted is canonical', () => {
    fc.assert(
      fc.property(
        json,
        fc.nat(),
        fc.nat(255),
        fc.constantFrom('replace', 'insert', 'remove'),
        (value, position, byte, how) => {
          const bytes = Array.from(canonicalJson(value));
          const altered = bytes.toSpliced(
            position % bytes.length,
            how === 'insert' ? 0 : 1,
            ...(how === 'remove' ? [] : [byte]),
          );
          fc.pre(Buffer.compare(Buffer.from(altered), Buffer.from(bytes)) !== 0);
          const parsed = parseCanonicalJson(Uint8Array.from(altered));
          if (parsed === undefined) return;
          expect(Array.from(canonicalJson(parsed))).toEqual(altered);
          expect(parsed).not.toEqual(value);
        },
      ),
      { numRuns: runs(500, 3000) },
    );
  });
});

it('attack 4: base64url has one spelling of each value', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
      expect(fromBase64url(toBase64url(bytes), bytes.length)).toEqual(bytes);
      expect(fromBase64url(toBase64url(bytes), bytes.length + 1)).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('A', 'B', '_', '-', '=', '+', '/', '\n', 'z'), maxLength: 8 }),
      (text) => {
        const bytes = fromBase64url(text);
        if (bytes !== undefined) expect(toBase64url(bytes)).toBe(text);
      },
    ),
  );
});
