import { describe, expect, it } from 'vitest';
import { forEachInFlight } from '../../node-support/in-flight.ts';

describe('work in flight', () => {
  it('is done for every item, and never for more than the limit at a time', async () => {
    let now = 0;
    let most = 0;
    const done: number[] = [];
    await forEachInFlight([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      done.push(item);
    });
    expect([most, done.sort()]).toEqual([3, [1, 2, 3, 4, 5, 6, 7]]);
  });

  it('ends at the first failure, once what had begun is over', async () => {
    const ended: number[] = [];
    const work = forEachInFlight([1, 2, 3, 4, 5, 6], 2, async (item) => {
      if (item === 1) throw new Error('first');
      await new Promise((resolve) => setImmediate(resolve));
      ended.push(item);
      if (item === 2) throw new Error('second');
    });
    await expect(work).rejects.toThrow('first');
    expect(ended).toEqual([2]);
  });
});
