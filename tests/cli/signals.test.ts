/** Ctrl-C once ends a command in order, twice at once. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stopRequested, untilSignal } from '../../cli/io/signals.ts';

const ended: string[] = [];
let now = 1000;
const support = { clock: () => now, end: (signal: string) => void ended.push(signal) };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
afterEach(() => {
  vi.runAllTimers(); // listeners that wait for a second arrival are taken off
  vi.useRealTimers();
  ended.length = 0;
});

it('tells the work to end, and no more where the same Ctrl-C arrives by two ways', async () => {
  await untilSignal(async (signal) => {
    process.emit('SIGINT');
    expect(signal.aborted).toBe(true);
    now += 100;
    process.emit('SIGINT');
  }, support);
  expect(ended).toEqual([]);
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'ends at once by a later %s, whatever the work waits for',
  async (name) => {
    await untilSignal(async () => {
      process.emit('SIGINT');
      now += 1000;
      process.emit(name, name);
    }, support);
    expect(ended).toEqual([name]);
  },
);

it('a program that stays ends in order where the same Ctrl-C arrives by two ways', async () => {
  const before = process.listenerCount('SIGINT');
  const stopped = stopRequested();
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  await stopped;
  expect(process.listenerCount('SIGINT')).toBe(before + 1);
  vi.advanceTimersByTime(500);
  expect(process.listenerCount('SIGINT')).toBe(before);
});

it('takes a second arrival after the work is done, too', async () => {
  const before = process.listenerCount('SIGINT');
  await untilSignal(async () => void process.emit('SIGINT'), support);
  now += 100;
  process.emit('SIGINT');
  expect([process.listenerCount('SIGINT'), ended]).toEqual([before + 1, []]);
  vi.advanceTimersByTime(500);
  expect(process.listenerCount('SIGINT')).toBe(before);
});

it('leaves signals alone when the work is done', async () => {
  const before = process.listenerCount('SIGTERM');
  await untilSignal(async () => expect(process.listenerCount('SIGTERM')).toBe(before + 1), support);
  expect(process.listenerCount('SIGTERM')).toBe(before);
});
