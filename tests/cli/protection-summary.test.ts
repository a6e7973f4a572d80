/** What is said of protecting and publishing, where a program cannot easily be brought to say it. */
import { describe, expect, it } from 'vitest';
import { describeRekey } from '../../cli/protection-summary.ts';
import { describeMove } from '../../cli/publish-summary.ts';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';
import { type LastPublished, NOTHING } from '../../publisher/published-places.ts';

describe('a new key', () => {
  it('is said to be that of the sets whose documents are encrypted anew, whichever run made it', () => {
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
      expect.stringMatching(/^2 documents are encrypted anew, under keys that were published before/),
    ]);
  });
});

describe('publishing to another place than the last time', () => {
  const last: LastPublished = { ...NOTHING, current: '/srv/web' };
  const place = (target?: string, publish?: string) =>
    ({ configuration: { publish }, target: target && { name: target }, out: '/w/protected' }) as unknown as Parameters<
      typeof describeMove
    >[1];

  it('is said to have consequences for timestamps, where wispr.json names none', () => {
    expect(describeMove(last, place())).toEqual([
      expect.stringMatching(/to no target, because \/w\/protected .* until now it took that to \/srv\/web$/),
      expect.stringContaining('publish to /srv/web again'),
    ]);
    expect(describeMove(last, place('s3://news'))[0]).toContain('takes what it signs to s3://news;');
  });

  it.each([
    ['it is the same', last, place('/srv/web')],
    ['there was none', { ...last, current: null }, place('/srv/web')],
    ['wispr.json names one', last, place(undefined, '/srv/web')],
  ])('is none where %s', (_, before, now) => expect(describeMove(before, now)).toEqual([]));
});
