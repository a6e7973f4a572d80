/** Asking several for the same thing. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { hedged } from '../../reading/hedged.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it.each([
  ['the next one is waited for', false, 1],
  ['none is, where it is enough', true, 0],
])('while one is asked, %s', async (_, isEnough, timers) => {
  const asked: string[] = [];
  const slow = Promise.withResolvers<string>();
  const start = (name: string) => {
    asked.push(name);
    return slow.promise;
  };
  const outcomes = hedged(['a', 'b'], start, { hedgeAfter: 50, isEnough: () => isEnough && asked.length > 0 });
  const first = outcomes.next();
  await Promise.resolve();
  expect([asked, vi.getTimerCount()]).toEqual([['a'], timers]);
  slow.resolve('here');
  expect((await first).value).toMatchObject({ candidate: 'a', result: 'here' });
});
