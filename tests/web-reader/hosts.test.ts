import { afterEach, expect, it, vi } from 'vitest';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { WorkerSupply } from '../../web-reader/worker/documents.ts';

const [SILENT, GOOD, OUT] = ['https://silent.example', 'https://good.example', 'https://out.example'];

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

it('attack 65: a host that says nothing is left for the next one, and one that failed before is not asked', async () => {
  vi.useFakeTimers();
  const asked: string[] = [];
  vi.stubGlobal('location', { origin: 'https://pages.example' }); // the worker's own
  vi.stubGlobal('fetch', (url: string, { signal }: { signal: AbortSignal }) => {
    asked.push(new URL(url).origin);
    if (url.startsWith(GOOD)) return Promise.resolve(new Response('good'));
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const supply = new WorkerSupply('/x', {} as DocumentEntry, [OUT, SILENT, GOOD]);
  const work = supply.ask(async (attempt) => (await attempt.fetch('/x')).status, new Set([OUT]));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await work).toBe(200);
  expect(asked).toEqual([SILENT, GOOD]);
});
