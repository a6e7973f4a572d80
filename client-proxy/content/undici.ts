/**
 * What the Reader uses of undici, by the names of its files. The whole of the package, with `fetch`, WebSocket, caches and mocks, takes 5 MiB more
 * and twice the time at every start (docs/figures.md). It does not promise these names, so its version is pinned, and they stand here only.
 */
import type { Dispatcher } from 'undici';
import apiRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';

export { Agent, Pool };

/** As `request` of undici, but for the dispatcher, which has to be named. */
export function request(
  url: URL,
  { dispatcher, ...options }: { dispatcher: Dispatcher } & Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
): Promise<Dispatcher.ResponseData> {
  return apiRequest.call(dispatcher, { ...options, origin: url.origin, path: url.pathname + url.search });
}
