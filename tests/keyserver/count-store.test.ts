import { afterEach, expect, it, vi } from 'vitest';
import { CountStore, MAXIMUM_COUNTED } from '../../keyserver/http/count-store.ts';

afterEach(() => void vi.useRealTimers());

it('attack 107: under a million addresses, keeps a bounded number of counts, and those that are used', () => {
  const store = new CountStore(600_000);
  for (let index = 0; index < 1_000_000; index++) {
    store.increment(`10.${index >> 16}.${(index >> 8) & 0xff}.${index & 0xff}`);
    if (index % 10_000 === 0) store.increment('an attacked name');
  }
  expect(store.size).toBe(MAXIMUM_COUNTED);
  expect(store.increment('an attacked name').totalHits).toBe(101);
  expect(store.increment('10.0.0.0').totalHits).toBe(1);
});

it('attack 107: what has no failures takes no place', () => {
  const store = new CountStore(600_000);
  store.increment('a name that fails');
  for (let index = 0; index < 2 * MAXIMUM_COUNTED; index++) {
    store.increment(`name ${index}`);
    store.decrement(`name ${index}`);
  }
  expect(store.size).toBe(1);
});

it('counts in windows that begin with the first count, and do not move', () => {
  vi.useFakeTimers();
  const store = new CountStore(1000);
  const hits = () => store.increment('a').totalHits;
  vi.advanceTimersByTime(5000);
  expect([hits(), hits()]).toEqual([1, 2]);
  vi.advanceTimersByTime(900);
  store.decrement('a');
  expect(hits()).toBe(2);
  vi.advanceTimersByTime(200);
  expect(hits()).toBe(1);
});
