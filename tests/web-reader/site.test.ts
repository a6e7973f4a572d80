/** Parts of `/-/site.json` that the worker takes. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { OriginStore } from '../../web-reader/store.ts';
import { StoredSite } from '../../web-reader/worker/site.ts';

const SITE = { site: 'news.example', root: 'A'.repeat(43), content: ['https://cache.example'] };

beforeEach(() => {
  vi.stubGlobal('location', { origin: 'https://pages.example' }); // the worker's own
  vi.stubGlobal('wisprSite', { ...SITE, reading: 'https://read.example' });
});
afterEach(() => vi.unstubAllGlobals());

const store = { state: { get: async () => undefined, put: async () => undefined } } as unknown as OriginStore;

it.each([
  ['more than 16 KiB', () => new Response(JSON.stringify(SITE).padEnd(16_385))],
  ['another text', () => new Response('<!doctype html>')],
  ['a refusal', () => new Response(JSON.stringify(SITE), { status: 500 })],
])('is not taken from %s', async (_, answer) => {
  vi.stubGlobal('fetch', async () => answer());
  await expect(new StoredSite(store).read()).rejects.toMatchObject({ code: 'site-unavailable' });
});

it('is taken as it is said', async () => {
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(SITE).padEnd(16_384)));
  expect(await new StoredSite(store).read()).toEqual(SITE);
});
