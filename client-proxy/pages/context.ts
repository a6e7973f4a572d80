/** Parts of the Reader's own pages, and what their handlers take and give. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProofSettings } from '../connect/prove.ts';
import type { ObjectCache } from '../documents/cache/object-cache.ts';
import type { ReaderLock } from '../identity/lock.ts';
import type { Upstream } from '../network/upstream.ts';
import type { BoundSites } from '../site/bound-sites.ts';
import type { SettingName, SettingsKeeper } from '../store/settings.ts';
import type { ReaderStore } from '../store/store.ts';
import type { RequestHost } from './guard.ts';
import type { BoundTunnels, Observations } from './noticed.ts';
import type { Proposals } from './proposals.ts';

export interface PagesOptions {
  readonly tunnels: BoundTunnels;
  readonly store: ReaderStore;
  readonly lock: ReaderLock;
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly cache: ObjectCache;
  readonly settings: SettingsKeeper;
  readonly proofs: ProofSettings;
  readonly port: () => number | undefined;
  /** Settings that the command line has decided. */
  readonly fixed: ReadonlyMap<SettingName, string>;
  readonly urlOf: (label: string) => string;
  /** Seconds since 1970. */
  readonly now: () => number;
}

export interface PagesContext extends PagesOptions, Observations {
  readonly proposals: Proposals;
  readonly token: string;
}

export interface PageCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly asked: RequestHost;
  readonly target: string;
  /** Tells whether it came in absolute form: the browser uses the Reader as its proxy for everything. */
  readonly throughProxy: boolean;
}

export interface PageRequest extends PageCall {
  readonly query: URLSearchParams;
  /** Text in place of the star of the route; empty where it has none. */
  readonly part: string;
}

/** Tells whether a browser was seen to use the Reader as its proxy; for this machine's own addresses none does, so other requests have to show it. */
export function usesProxy({ browsers }: PagesContext, { request, throughProxy }: PageRequest): boolean {
  return throughProxy || browsers.when(request.headers['user-agent'] ?? '') !== undefined;
}

export type PageAnswer =
  | { readonly html: string; readonly status?: number }
  /** Path of the page to go on with after a change, by GET, so that a reload repeats nothing. */
  | { readonly goTo: string };

export type PageHandler = (context: PagesContext, asked: PageRequest) => Promise<PageAnswer>;
/** Called only with a form that the guard accepted. */
export type SubmitHandler = (context: PagesContext, form: URLSearchParams, asked: PageRequest) => Promise<PageAnswer>;
