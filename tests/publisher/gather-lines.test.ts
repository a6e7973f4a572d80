/** The lines in which a signer is shown what is signed: none can be made to look like another, nor to hide among others. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { folded } from '../../cli/folded.ts';
import { describeChanges } from '../../cli/publication-changes.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { printable } from '../../node-support/printable.ts';
import { publicationChanges } from '../../publisher/keys/publication-changes.ts';
import { otherwise, Signers, targetsOf } from '../support/signers.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

let workspace: TestWorkspace;
let signers: Signers;

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a' });
  signers = await Signers.in(workspace, ['ada']);
});
afterEach(() => workspace.remove());

describe('lines', () => {
  it('attack 36: are others where something else is signed', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const { publicKey } = await signers.own();
    const shown = async (settings: Uint8Array, paths: readonly string[]) => {
      const content = await targetsOf(draft, settings, [
        { name: 'sports', paths, publicKeys: [publicKey], threshold: 1 },
      ]);
      const forged = await signers.forge(draft, { settings, roles: otherwise(draft, { targets: () => content }) });
      return describeChanges(await publicationChanges(forged), 50);
    };
    const redirect = (from: string, status: 301 | 302, to: string) =>
      encodeSettings({ cleanUrls: true, grace: 60, redirects: [{ from, status, to }] });
    const all = [
      await shown(draft.settings, ['news/*', 'sports/*']),
      await shown(draft.settings, ['news/*, sports/*']),
      await shown(redirect('/x', 301, '/y'), ['news/*']),
      await shown(redirect('/x 301 /y', 301, '/y'), ['news/*']),
    ];
    expect(new Set(all.map((lines) => lines.join('\n'))).size).toBe(all.length);
    expect(all[0]?.join('\n')).toContain('"news/*", "sports/*"');
    expect(all[1]?.join('\n')).toContain('"news/*, sports/*"');
    expect(all[3]?.join('\n')).toContain('redirect "/x 301 /y" 301 "/y"');
  });

  it('attack 36: are bounded, however many keys documents are added or moved with', async () => {
    await signers.add('ada', 2);
    const changes = await publicationChanges(await signers.leave());
    const key = (number: number) => number.toString(16).padEnd(43, 'x');
    const added = Array.from({ length: 20_000 }, (_, number) => ({ path: `/${number}`, set: key(number) }));
    const moved = added.map((one) => ({ ...one, before: 'public' as const }));
    const plain = describeChanges({ ...changes, added: [], moved: [] }, 50).length;
    const lines = describeChanges({ ...changes, added, moved }, 50);
    expect(lines.length - plain).toBeLessThanOrEqual(4 * 52);
    expect(lines.filter((line) => line.includes('19,950 more'))).toHaveLength(4);
    const full = describeChanges({ ...changes, added, moved }, Number.POSITIVE_INFINITY);
    expect(full.length - plain).toBeGreaterThan(80_000 - 1);
  });
});

describe('characters', () => {
  it('attack 36: that cannot be seen are shown', () => {
    const unseen = [
      '\u00a0',
      '\u2800',
      '\u3164',
      '\u034f',
      '\ufe0f',
      '\u115f',
      '\u{e0100}',
      '\u2000',
      '\u180b',
      '\u3000',
      '\ufffc',
      '\u0378',
      '\ue000',
      '\u{e01f0}',
    ];
    for (const one of [...unseen, '\u202e', '\n'])
      expect(printable(`x${one}y`)).toBe(`x\\u{${one.codePointAt(0)?.toString(16)}}y`);
    expect(printable('a b c')).toBe('a b c');
    expect(printable('x\\u{a0}y')).not.toBe(printable('x\u00a0y'));
    expect(printable('a\\b/\\ux')).toBe('a\\b/\\ux');
    expect(printable('x   removed:')).toBe('x \\u{20}\\u{20}removed:');
  });

  it('attack 36: that strike out others, or stand on nothing, are shown; names of every language stay', () => {
    const numbers = (text: string) => Array.from(text, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`).join('');
    for (const mark of ['\u0336', '\u0338', '\u20dd', '\u0488', '\u20d2', '\u20e5', '\u{1d167}']) {
      expect(printable(`/a${mark}b`)).toBe(`/a${numbers(mark)}b`);
      expect(printable(`a${mark}\u0301`)).toBe(`a${numbers(`${mark}\u0301`)}`);
    }
    for (const before of ['', '/', 'a ', '.', '"', 'a-'])
      expect(printable(`${before}\u0301\u0302b`)).toBe(`${before}${numbers('\u0301\u0302')}b`);
    expect(printable('a\u200d\u0301')).toBe(`a${numbers('\u200d\u0301')}`);
    expect(printable(`a${'\u0301'.repeat(9)}b`)).toBe(`a${'\u0301'.repeat(6)}${numbers('\u0301'.repeat(3))}b`);
    const names = [
      'caf\u00e9',
      'cafe\u0301',
      'Vie\u0302\u0323t',
      '\u0939\u093f\u0928\u094d\u0926\u0940',
      '\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd',
    ];
    names.push(
      '\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22\u0e17\u0e35\u0e48',
      '\u0f56\u0f66\u0f92\u0fb2\u0f74\u0f56\u0f66',
      '\u30ab\u3099',
      '\u0627\u0644\u0639\u064e\u0631\u064e\u0628\u0650\u064a\u0651\u064e\u0629',
    );
    for (const name of names) expect(printable(`/${name}/1.html`)).toBe(`/${name}/1.html`);
  });
});

describe('long lines', () => {
  it('attack 36: go on further to the right than any line begins, and lose nothing', () => {
    const heading = 'readable by everybody from now on: nothing';
    const texts = [
      `  /${'x'.repeat(76)}${heading}  public`,
      `  /${'x'.repeat(76)} ${heading}`,
      `  ${'\u4e2d'.repeat(200)}`,
      `changed: "${'a b '.repeat(100)}"`,
      `    ${'e\u0301'.repeat(300)}`,
    ];
    for (const text of texts) {
      const [first = '', ...rest] = folded(text, 73);
      const begins = /^ */.exec(text)?.[0].length ?? 0;
      for (const row of rest) expect(/^ */.exec(row)?.[0].length).toBe(begins + 6);
      for (const row of [first, ...rest]) {
        const wide = Array.from(row.normalize('NFC')).filter((one) => one > '\u1100').length;
        expect(Array.from(row.normalize('NFC')).length + wide).toBeLessThanOrEqual(73);
      }
      const together = rest.reduce((all, row) => {
        return all.endsWith('\\') ? all.slice(0, -1) + row.trimStart() : `${all} ${row.trimStart()}`;
      }, first);
      expect(together).toBe(text);
    }
    expect(folded('  as it is  public', 73)).toEqual(['  as it is  public']);
  });
});
