import { afterEach, expect, it, vi } from 'vitest';
import { STATE } from '../../web-reader/store.ts';
import { type IssueContext, keepIssue, removeIssue, shownIssues } from '../../web-reader/worker/issues.ts';

afterEach(() => vi.unstubAllGlobals());

it('a run that was removed and begun again ends neither the new run nor its record', async () => {
  const values = new Map<string, unknown>();
  const work = {
    store: {
      keys: { find: async () => undefined },
      state: {
        get: async (name: string) => structuredClone(values.get(name)),
        put: async (name: string, value: unknown) => void values.set(name, structuredClone(value)),
      },
    },
    find: async () => undefined,
  } as unknown as IssueContext;
  const waiting: (() => void)[] = [];
  const noRoom = { quota: 1, usage: 1 };
  const estimate = () => new Promise((resolve) => waiting.push(() => resolve(noRoom)));
  vi.stubGlobal('navigator', { storage: { estimate } });
  vi.stubGlobal('caches', { has: async () => false, delete: async () => true });

  const first = keepIssue(work, 'set', 'First');
  await expect.poll(() => waiting.length).toBe(1);
  await removeIssue(work, 'set');
  const second = keepIssue(work, 'set', 'Second');
  await expect.poll(() => waiting.length).toBe(2);
  waiting[0]?.();
  await first;
  expect(await shownIssues(work)).toEqual([expect.objectContaining({ title: 'Second', running: true })]);
  expect(values.get(STATE.issues)).toEqual({ set: expect.objectContaining({ title: 'Second' }) });
  waiting[1]?.();
  await second;
  expect(await shownIssues(work)).toEqual([expect.objectContaining({ trouble: 'full', running: false })]);
});
