/** Numbers of readers, and results. */
import { IS_QUICK } from '../quick.ts';
import type { Page } from './pages.ts';

/** Numbers of readers after which it is counted. */
export const READERS = IS_QUICK ? [1, 10, 100] : [1, 10, 100, 1000];

/** Bytes since the first reader. */
export interface Counts {
  readonly received: number;
  readonly originBytes: number;
  readonly keyServerBytes: number;
}

/** Counts of one way to read, after more and more readers. */
export type Series = readonly Counts[];

export interface SiteFacts {
  readonly name: string;
  readonly short: string;
  readonly pages: readonly Page[];
  /** Bytes of all files of the protected site. */
  readonly bytes: number;
}

export interface SiteResults {
  readonly site: SiteFacts;
  readonly digest: string;
  readonly http: Series;
  readonly https: Series;
  readonly protected: Series;
}
