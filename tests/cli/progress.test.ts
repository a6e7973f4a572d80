import { expect, it } from 'vitest';
import { describeLeft } from '../../cli/progress.ts';

it('says how long it takes once that is known', () => {
  expect(describeLeft(4, { autopaddingChar: '' }, 1)).toBe(', 4s left');
  for (const unknown of ['NULL', 'INF']) expect(describeLeft(unknown as unknown as number, {}, 5)).toBe('');
});
