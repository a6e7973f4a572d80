/** Of which publication a key server is told, where several are signed: never of one that its readers cannot have. */
import { describe, expect, it } from 'vitest';
import type { WithdrawAt } from '../../cli/withdraw-at.ts';
import { tellingOf } from '../../cli/withdraw-telling.ts';
import type { KeyServerSays } from '../../publisher/publish/key-server-says.ts';
import { NOTHING, type Place, withPublished } from '../../publisher/published-places.ts';

const sha256 = 'a'.repeat(64);
const at = (place: Place, version: number) => ({ place, chosen: { live: { version } } }) as unknown as WithdrawAt;
/** Its place may show it, as far as is known. */
const maybeAt = (place: Place, version: number) =>
  ({ place, chosen: { live: { version }, mayBeOut: true, isSeen: false } }) as unknown as WithdrawAt;
const has = (version: number): KeyServerSays => ({ version, length: 1, sha256 });
const confirmedAt = (place: Place, version: number) => withPublished(NOTHING, place, { version, sha256 }, undefined);

it.each<[string, WithdrawAt[], KeyServerSays, Place | undefined, number, Place | undefined]>([
  ['what it has', [at('A', 3), at('B', 2)], has(2), 'A', 1, 'B'],
  ['the place that is confirmed, of two that have that', [at('B', 2), at('A', 2)], has(2), 'A', 1, 'A'],
  ['the place that is confirmed, where it says nothing', [at('B', 3), at('A', 2)], 'unknown', 'A', 1, 'A'],
  ['the highest, where none is yet', [at('B', 1), at('A', 2)], 'none', undefined, 1, 'A'],
  ['the output, where that is what is confirmed', [at('B', 3), at(null, 2)], 'unknown', null, 1, null],
  ['not the output, where a target is', [at(null, 3), at('B', 3)], has(3), 'A', 3, 'B'],
  ['not something later, where what is confirmed fails', [at('B', 3)], 'unknown', 'A', 1, undefined],
  ['what is withdrawn itself, where what is confirmed fails', [at('B', 3)], 'unknown', 'A', 3, 'B'],
  ['not a slip of which it knows nothing', [at('B', 3)], has(2), 'A', 3, undefined],
  [
    'not something later that nobody has seen, even where it is confirmed',
    [maybeAt('A', 3)],
    'unknown',
    'A',
    2,
    undefined,
  ],
  ['nor where nothing was published yet', [maybeAt('A', 3), at('B', 2)], 'unknown', undefined, 2, 'B'],
  ['what nobody has seen, where that is what is withdrawn', [maybeAt('A', 3)], 'unknown', 'A', 3, 'A'],
  ['what nobody has seen, where it has that itself', [maybeAt('A', 3)], has(3), 'A', 2, 'A'],
])('%s', async (_, signing, says, current, withdraw, expected) => {
  const last = current === undefined ? NOTHING : confirmedAt(current, 2);
  const telling = await tellingOf(signing, { withdraw, last, says, openItself: async () => undefined });
  expect(telling?.place).toBe(expected);
});

describe('what it has, and no place', () => {
  const last = confirmedAt('A', 3);
  const itself = at(null, 0);
  const opened = (says: KeyServerSays, withdraw: number, signing: WithdrawAt[], openable: WithdrawAt | undefined) =>
    tellingOf(signing, { withdraw, last, says, openItself: async () => openable });

  it('is what it is told of, where that is withdrawn, whatever is confirmed', async () => {
    expect(await opened(has(2), 2, [at('A', 3)], itself)).toBe(itself);
    expect(await opened(has(2), 2, [], itself)).toBe(itself);
  });

  it('is not opened where a place has it, or something else is withdrawn', async () => {
    const there = at('B', 2);
    expect(await opened(has(2), 2, [at('A', 3), there], itself)).toBe(there);
    expect(await opened(has(2), 1, [at('B', 1)], itself)).toBeUndefined();
    expect(await opened('unknown', 2, [], itself)).toBeUndefined();
  });

  it('leaves what is confirmed, where what was signed for it is gone', async () => {
    const confirmed = at('A', 3);
    expect(await opened(has(2), 2, [confirmed], undefined)).toBe(confirmed);
  });
});

describe('a slip that was published completely, and of which it knows nothing,', () => {
  const slip = { version: 3, sha256: 'b'.repeat(64) };
  const told = async (before: Place) => {
    const last = withPublished(confirmedAt(before, 2), 'B', slip, undefined);
    const telling = { withdraw: 3, last, says: has(2), openItself: async () => undefined };
    return (await tellingOf([at('B', 3)], telling))?.place;
  };

  it('is not told, while it sends readers to what another place has', async () => {
    expect(await told('A')).toBeUndefined();
  });

  it('is told, where that place has the slip instead by now', async () => {
    expect(await told('B')).toBe('B');
  });

  it('or may have it', async () => {
    const telling = { withdraw: 3, last: confirmedAt('A', 2), says: has(2), openItself: async () => undefined };
    expect((await tellingOf([maybeAt('A', 3)], telling))?.place).toBe('A');
  });
});
