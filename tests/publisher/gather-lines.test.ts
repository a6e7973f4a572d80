/** The lines in which a signer is shown what is signed: none can be made to look like another, nor to hide among others. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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
});
