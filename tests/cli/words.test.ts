/** What is said where a program cannot easily be brought to say it. */
import { describe, expect, it } from 'vitest';
import { withItsSites } from '../../cli/commands/identity-forget.ts';
import { describeDryRun, describeProtectionToPublish, describeRekey } from '../../cli/commands/protection-summary.ts';
import { describePublishing } from '../../cli/commands/publish-summary.ts';
import type { DryRunSummary, ProtectSummary } from '../../publisher/protect/summary.ts';
import type { PublishSummary } from '../../publisher/publish/publish.ts';

describe('a new key', () => {
  it('is said to be that of the sets whose documents are encrypted again, whichever run made it', () => {
    const set = (name: string, isNew: boolean, isRekeyed: boolean) => ({
      name,
      id: 'x',
      documents: 1,
      isNew,
      isRekeyed,
    });
    const sets = [set('first', true, false), set('gold', true, true), set('killed', false, true)];
    const changes = { added: 1, changed: 0, moved: 0, rekeyed: 2, removed: 0, unchanged: 0 };
    expect(describeRekey({ sets, changes } as unknown as ProtectSummary)[0]).toMatch(
      /^new key for gold, killed: 2 doc/,
    );
  });

  it('is not said of one that was published before, where only the index is older', () => {
    const sets = [{ name: 'gold', id: 'x', documents: 2, isNew: false, isRekeyed: false }];
    const changes = { added: 0, changed: 0, moved: 0, rekeyed: 2, removed: 0, unchanged: 0 };
    expect(describeRekey({ sets, changes } as unknown as ProtectSummary)).toEqual([
      expect.stringMatching(/^2 documents are encrypted again, under keys that were published before/),
    ]);
  });
});

const NO_CHANGES = { added: 0, changed: 0, moved: 0, rekeyed: 0, removed: 0, unchanged: 0 };
const NO_DETAILS = { sets: [], sections: [], public: [], ignored: 0, hidden: [], reasons: { remade: 0, restored: 0 } };

describe('the bytes of an output', () => {
  const told = (sizes: Pick<ProtectSummary, 'bytesOut' | 'pageBytes'>) =>
    describeProtectionToPublish(
      {
        ...{
          ...NO_DETAILS,
          ...sizes,
          documents: 1,
          milliseconds: 1,
          site: 'news.example',
          out: '/w/out',
          changes: NO_CHANGES,
          bytesIn: 1024 ** 2,
        },
        publication: { version: 1, isNew: true, reasons: [], bytes: 2048 },
      } as unknown as ProtectSummary,
      false,
    );

  it.each([
    [3 * 1024 ** 2, '2.0 MiB of objects, 3.0 MiB of fallback pages and 2.0 KiB of signed metadata in /w/out'],
    [0, '2.0 MiB of objects and 2.0 KiB of signed metadata in /w/out'],
  ])('are said by what they are: %s of pages', (pageBytes, words) => {
    expect(told({ bytesOut: 2 * 1024 ** 2, pageBytes })).toContain(`1.0 MiB of site became ${words}`);
  });
});

it('a dry run says why documents are other whose sources are not', () => {
  const changes = { ...NO_CHANGES, changed: 63 };
  const summary = {
    ...NO_DETAILS,
    documents: 63,
    changes,
    ignored: 3,
    hidden: ['.zarray', '.zattrs'],
    paths: { changed: [] },
    reasons: { remade: 60, restored: 2 },
    settingsChanged: true,
  };
  const lines = describeDryRun(summary as unknown as DryRunSummary).split('\n');
  expect(lines[0]).toContain('63 documents; 3 hidden or ignored left out (.zarray, .zattrs); nothing was written');
  expect(lines.slice(1, 5)).toEqual([
    '  63 changed',
    expect.stringMatching(/^ {2}60 of these .*"headers"/),
    expect.stringMatching(/^ {2}2 of these .*missing/),
    expect.stringMatching(/^ {2}a new publication with other settings/),
  ]);
});

it('publishing says that the key server confirms it, where it does', () => {
  const summary = { targets: [], expires: [], freshUntil: 1 };
  const isSaid = (keyServer: PublishSummary['keyServer']) =>
    describePublishing({ ...summary, keyServer } as unknown as PublishSummary, true).includes(
      'the key server confirms it',
    );
  expect((['confirms', 'does not answer', undefined] as const).map(isSaid)).toEqual([true, false, false]);
});

it('a publisher that has the name of its site is named once', () => {
  expect(withItsSites({ name: 'news.example', sites: ['news.example'] })).toBe('news.example');
  expect(withItsSites({ name: 'News', sites: ['a.example', 'b.example'] })).toBe('News, with a.example, b.example');
});
