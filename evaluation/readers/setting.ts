/** How many read, with which caches; and what comes out. */
import { IS_QUICK } from '../quick.ts';
import type { Page } from './pages.ts';

/** After so many of them it is counted. */
export const READERS = IS_QUICK ? [1, 10, 100] : [1, 10, 100, 1000];
/** Parts of the protected site; the last holds everything, although Squid counts in pages of 4 KiB. */
export const ROOMS = [0.02, 0.1, 0.5, 2];
/** With less room than for everything: one of {@link READERS}, because what the cache does not hold takes its time. */
export const ROOM_READERS = 100;

/** From the first reader on. */
export interface Counts {
  readonly received: number;
  readonly originBytes: number;
  readonly keyServerBytes: number;
}

/** One way to read, with one cache, after more and more readers. */
export type Series = readonly Counts[];

export interface SiteFacts {
  readonly name: string;
  readonly short: string;
  readonly pages: readonly Page[];
  /** Of all files of the protected site. */
  readonly bytes: number;
}

export interface SiteResults {
  readonly site: SiteFacts;
  readonly digest: string;
  /** By room in the cache: the last for each of {@link READERS}, the others for {@link ROOM_READERS}. */
  readonly http: readonly Series[];
  readonly https: Series;
  readonly protected: readonly Series[];
}
