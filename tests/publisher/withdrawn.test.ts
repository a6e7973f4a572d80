/** Which versions a timestamp names as withdrawn, where there are more than it has room for. */
import { expect, it } from 'vitest';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { namedWithdrawn, repeatsWithdrawn } from '../../publisher/timestamp/withdrawn.ts';

const room = PUBLICATION_LIMITS.withdrawn;
const upTo = (last: number) => Array.from({ length: room }, (_, index) => last - room + 1 + index);

it('what was withdrawn here comes first, and takes all the room', () => {
  expect(namedWithdrawn({ own: upTo(70), others: [80, 90] }, 100)).toEqual(upTo(70));
  expect(namedWithdrawn({ own: [5], others: upTo(90) }, 100)).toEqual([5, ...upTo(90).slice(1)]);
});

it('but for the publication that is confirmed, whoever has withdrawn that', () => {
  expect(namedWithdrawn({ own: upTo(70), others: [90, 100] }, 100)).toEqual([...upTo(70).slice(1), 100]);
  expect(namedWithdrawn({ own: upTo(70), others: [101] }, 100)).toEqual(upTo(70));
  const snapshot = { version: 100, length: 1, sha256: 'a'.repeat(64) };
  const ours = { withdrawn: upTo(70), snapshot };
  expect(repeatsWithdrawn(ours, { withdrawn: [100], snapshot })).toBe(false);
  expect(repeatsWithdrawn(ours, { withdrawn: [90], snapshot })).toBe(true);
});
