import { expect, it } from 'vitest';
import { describeLeft, describeRate } from '../../cli/io/progress-bar.ts';

it('says how long it takes once that is known', () => {
  expect(describeLeft(4, { autopaddingChar: '' }, 1)).toBe(', 4s left');
  for (const unknown of ['NULL', 'INF']) expect(describeLeft(unknown as unknown as number, {}, 5)).toBe('');
});

it('says how fast it goes once that means something', () => {
  expect(describeRate(3000, 2)).toBe(', 1,500/s');
  expect(describeRate(50, 0.01)).toBe('');
});
