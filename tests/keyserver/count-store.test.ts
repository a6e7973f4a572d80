import { afterEach, expect, it, vi } from 'vitest';
import { CountStore } from '../../keyserver/http/count-store.ts';

afterEach(() => void vi.useRealTimers());

it('attack 107: keeps a bounded number of counts, and those that are used', () => {
  const store = new CountStore(100);
  for (let index = 0; index < 1000; index++) {
    store.count(`10.0.${index >> 8}.${index & 0xff}`);
    if (index % 50 === 0) store.count('an attacked name');
  }
  expect(store.size).toBe(100);
  expect(store.count('an attacked name').hits).toBe(21);
  expect(store.count('10.0.0.0').hits).toBe(1);
});

it('counts in windows that begin with the first count, and do not move', () => {
  vi.useFakeTimers();
  const store = new CountStore();
  const hits = () => store.count('a').hits;
  vi.advanceTimersByTime(300_000);
  expect([hits(), hits()]).toEqual([1, 2]);
  vi.advanceTimersByTime(54_000);
  expect(hits()).toBe(3);
  vi.advanceTimersByTime(12_000);
  expect(hits()).toBe(1);
});
