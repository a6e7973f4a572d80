/** Checks whether every place shows the same publication. */
import { utcMinute } from '../clock.ts';
import { lazily } from '../lazily.ts';
import { withinTime } from '../within-time.ts';
import { CHECK_LIMIT, type Check, ok, problem } from './diagnosis.ts';

/** Publication that a place shows readers. */
export interface VisiblePublication {
  readonly version: number;
  /** End of its timestamp, in seconds since 1970. */
  readonly expires: number;
}

export interface PublicationLocation {
  /** A directory, a bucket, an origin. */
  readonly name: string;
  /** Reads and verifies what the place shows; throws where that is nothing. */
  readonly read: (signal: AbortSignal) => Promise<VisiblePublication>;
}

/** Milliseconds for reading a place: less than for a check, which waits for all of them. */
const READING = CHECK_LIMIT - 1000;

/**
 * Compares each place with the highest publication that any of them shows.
 *
 * @param now - seconds since 1970
 * @param remedy - what to do about a place that is behind
 */
export function shownChecks(places: readonly PublicationLocation[], now: number, remedy: string): Check[] {
  const read = lazily(() => Promise.allSettled(places.map((place) => withinTime(READING, place.read))));
  return places.map(({ name }, index) => ({
    check: `publication at ${name}`,
    remedy,
    run: async () => {
      const results = await read();
      const own = results[index];
      if (own?.status !== 'fulfilled') throw own?.reason;
      const shown = own.value;
      const highest = Math.max(...results.map((one) => (one.status === 'fulfilled' ? one.value.version : 0)));
      if (shown.version < highest) return problem(`shows ${shown.version}, and the newest is ${highest}`, remedy);
      const until = utcMinute(shown.expires);
      if (shown.expires < now) return problem(`shows ${shown.version}, confirmed until ${until} only`, remedy);
      return ok(`shows ${shown.version}, confirmed until ${until}`);
    },
  }));
}
