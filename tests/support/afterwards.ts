import { setTimeout } from 'node:timers/promises';
import { vi } from 'vitest';

/** Does something as if so many milliseconds had passed, for what measures by `performance.now`. */
export async function afterwards(milliseconds: number, act: () => void): Promise<void> {
  await setTimeout(5); // a cache may look at the clock once a millisecond only
  const passed = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + milliseconds);
  try {
    act();
  } finally {
    passed.mockRestore();
  }
}

/** The same in seconds, for what looks at the date. */
export async function secondsLater(seconds: number, act: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 * seconds });
  try {
    await act();
  } finally {
    vi.useRealTimers();
  }
}
