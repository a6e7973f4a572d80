/**
 * What is used of undici, by the names of its files. The whole of the package, with `fetch`, WebSocket, caches and mocks, takes 5 MiB more
 * and twice the time at every start (docs/figures.md). It does not promise these names, so its version is pinned, and they stand here only.
 */
import type { Dispatcher } from 'undici';
import apiRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { lazily } from './lazily.ts';

export { Agent };

const shared = lazily(() => new Agent());

/** As `request` of undici. What names no dispatcher goes by connections that all of it shares. */
export async function request(
  url: URL | string,
  {
    dispatcher,
    ...options
  }: Partial<Omit<Dispatcher.RequestOptions, 'origin' | 'path'>> & { dispatcher?: Dispatcher } = {},
): Promise<Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  return apiRequest.call(dispatcher ?? shared(), { method: 'GET', ...options, origin, path: pathname + search });
}
