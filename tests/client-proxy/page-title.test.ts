/** What the list of recent reading calls pages. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { pageTitleOf } from '../../client-proxy/pages/page-title.ts';
import { utf8 } from '../../core/encoding/bytes.ts';

const titleOf = (html: string) => pageTitleOf(utf8(html), undefined);

describe('the title of a page', () => {
  it.each([
    ['<title>Fog &amp; tide</title>', 'Fog & tide'],
    ['<TITLE lang="fr">\n Le   brouillard\n</TITLE>', 'Le brouillard'],
    ['<title>a\u202eb\u0000c</title>', 'a b c'],
    [`<title>${'x'.repeat(200)}</title>`, `${'x'.repeat(119)}…`],
    ['<title> </title>', undefined],
    ['<h1>Fog</h1>', undefined],
    ['<title>Fog', undefined],
  ])('in %j is %j', (html, title) => expect(titleOf(html)).toBe(title));

  it('is found in the start of a page that is carried in gzip', () => {
    const whole = gzipSync(`<title>Fog</title>${Array.from({ length: 5000 }, (_, index) => `<p>${index}`).join('')}`);
    expect(pageTitleOf(whole.subarray(0, 1000), 'gzip')).toBe('Fog');
    expect(pageTitleOf(gzipSync(`<title>Fog</title>${' '.repeat(2_000_000)}`), 'gzip')).toBeUndefined();
    expect(pageTitleOf(utf8('no gzip'), 'gzip')).toBeUndefined();
  });
});
