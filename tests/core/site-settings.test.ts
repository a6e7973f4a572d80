/** Contents of site settings, and where their redirects lead. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { canonicalJson } from '../../core/encoding/canonical-json.ts';
import { documentEntryOf } from '../../core/publication/document-entry.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { areSetTitles, titleOfSet } from '../../core/publication/set-titles.ts';
import { encodeSettings, isRedirectDestination, parseSettings } from '../../core/publication/settings.ts';
import { localRedirect } from '../../reading/local-redirect.ts';

const SETTINGS = { cleanUrls: false, grace: 0, redirects: [] };
const malformed = expect.objectContaining({ code: 'settings-malformed' });
const redirects = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ from: `/${index}`, status: 301 as const, to: '/' }));

describe('site settings', () => {
  it('attack 15: are bounded', () => {
    expect(() => encodeSettings({ ...SETTINGS, redirects: redirects(10_000) })).not.toThrow();
    expect(() => encodeSettings({ ...SETTINGS, redirects: redirects(10_001) })).toThrow(malformed);
    expect(() => encodeSettings({ ...SETTINGS, grace: PUBLICATION_LIMITS.grace + 1 })).toThrow(malformed);
    const padded = utf8(new TextDecoder().decode(encodeSettings(SETTINGS)) + ' '.repeat(1_048_576));
    expect(() => parseSettings(padded)).toThrow(malformed);
  });

  it.each([
    ['accent', 'red'],
    ['accent', '#FFFFFF'],
    ['accent', '#fff;}body{x:y'],
    ['logo', 'logo.svg'],
    ['logo', '//evil.example/logo.svg'],
    ['logo', '/../logo.svg'],
    ['subscribe', 'http://shop.example/'],
    ['subscribe', 'https://shop.example'],
    ['subscribe', 'https://a@shop.example/'],
    ['subscribe', 'javascript:alert(1)'],
    ['subscribe', 'https://shop.example;script-src-elem/'],
    ['subscribe', `https://shop.example/${'a'.repeat(2048)}`],
    ['titles', []],
    ['titles', [{ set: 'a', title: 'A', more: 1 }]],
    ['titles', [{ set: 'a', title: 'A\u202eB' }]],
    ['titles', [{ set: 'a', title: 'A'.repeat(101) }]],
    ['titles', [{ set: '(a+)+', title: 'A' }]],
    ['titles', [{ set: 'a{m{yyyy}m}', title: 'x' }]],
    ['titles', [{ set: 'a{d{mm}d}', title: 'x' }]],
    ['titles', [{ set: '{yyyy}', title: '{m{yyyy}m}' }]],
    ['titles', Array.from({ length: 101 }, (_, index) => ({ set: `a${index}`, title: 'A' }))],
    ['reader', []],
    ['reader', { worker: 'abc' }],
    ['reader', { 'Worker.js': 'a'.repeat(64) }],
    ['reader', Object.fromEntries(Array.from('abcdefghijklmnopq', (name) => [name, 'a'.repeat(64)]))],
    ['preview', 'none'],
    ['sheet', 'yes'],
    ['keptAfterGrace', 'no'],
  ])('attack 15: refuse %s %j', (member, value) => {
    const [start = ''] = new TextDecoder().decode(encodeSettings(SETTINGS)).split('}', 1);
    const members = { ...JSON.parse(`${start}}`), [member]: value };
    expect(() => parseSettings(canonicalJson(members))).toThrow(malformed);
  });

  it('say what the publisher leaves to readers', () => {
    const said = { ...SETTINGS, sheet: false, keptAfterGrace: true } as const;
    expect(parseSettings(encodeSettings(said))).toEqual(said);
    expect(parseSettings(encodeSettings(SETTINGS))).toEqual(SETTINGS);
  });

  it('name sets for readers', () => {
    const titles = [
      { set: 'day-{yyyy}-{mm}-{dd}', title: 'Issue of {dd}/{mm}/{yyyy}' },
      { set: 'v1.0', title: 'First version' },
      { set: 'subscribers', title: 'Letters' },
    ];
    expect(parseSettings(encodeSettings({ ...SETTINGS, titles })).titles).toEqual(titles);
    expect(titleOfSet(titles, 'day-2026-11-16')).toBe('Issue of 16/11/2026');
    expect(titleOfSet(titles, 'day-2026-13-16')).toBeUndefined();
    expect(titleOfSet(titles, 'v1.0')).toBe('First version');
    expect(titleOfSet(titles, 'v1x0')).toBeUndefined();
    expect(titleOfSet(titles, 'subscribers ')).toBeUndefined();
  });

  it('attack 15: that are accepted name every set without an error', () => {
    const text = fc
      .array(fc.constantFrom('{', '}', '{yyyy}', '{mm}', '{dd}', 'm', 'y', 'd', '.', '-', ' '), { maxLength: 6 })
      .map((parts) => parts.join(''));
    const set = text.map((rest) => `a${rest}`);
    fc.assert(
      fc.property(set, text, set, (name, title, asked) => {
        const titles = [{ set: name, title: `T${title}t` }];
        if (areSetTitles(titles)) titleOfSet(titles, asked);
      }),
      { numRuns: 5000, examples: [['a{m{yyyy}m}', '', 'a']] },
    );
  });

  it.each([
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    'http://evil.example/',
    'https://name:word@evil.example/',
    'https://name@evil.example/',
    'https://',
    '/a\r\nSet-Cookie: a=b',
    '/a b',
    '/ä',
    '',
    42,
  ])('attack 76: redirect nowhere as %j', (to) => expect(isRedirectDestination(to)).toBe(false));

  it.each([
    ['/b?c#d', '/b?c#d'],
    ['https://news.example/b?c#d', '/b?c#d'],
    ['https://NEWS.example:443/b', '/b'],
    ['https://news.example./b', '/b'],
    ['https://news.example//evil.example/b', '/evil.example/b'],
    ['https://news.example/\\evil.example', '/evil.example'],
    ['https://news.example:8443/b', 'https://news.example:8443/b'],
    ['https://other.example/b', 'https://other.example/b'],
  ])('attack 76: a redirect to %s leads to %s', (to, location) => {
    expect(localRedirect(to, 'news.example')).toBe(location);
  });
});

it.each([
  { set: 'A'.repeat(43), content: 'a'.repeat(64) },
  {},
  { set: 'A' },
  { content: 'a'.repeat(63) },
  { content: `../${'a'.repeat(61)}` },
  { set: 'A'.repeat(43), carrier: 'other' },
])('attack 39: what a publication says of a document is refused: %j', (wispr) => {
  const target = { length: 1, sha256: 'a'.repeat(64), custom: { wispr } };
  expect(() => documentEntryOf(target, '/a')).toThrow(expect.objectContaining({ code: 'metadata-malformed' }));
});
