/** Times for which a reader waits for the files of a publication, and after which it looks for a newer one. In milliseconds. */
export const READING_TIMES = {
  /** Time between two checks for a newer publication, while the current one is fresh; and at most, while checks fail. */
  checkInterval: 30_000,
  checkIntervalMaximum: 300_000,
  /** The same where no publication may be shown, and where the reader reloads. */
  checkIntervalUrgent: 1_000,
  /** Time for which a request waits for a newer publication while there is one to show. */
  staleWait: 3_000,
  /** Limits for one file, from the first byte of the request to the last of the answer; a timestamp, or a file that may be missing; a whole check. */
  metadataTimeout: 20_000,
  timestampTimeout: 5_000,
  checkTimeout: 60_000,
  /** Time added for each byte that comes: 100 a second are enough. */
  slowestByte: 10,
  /** Limit of that where all hosts are waited for, as no hash is known: one could send byte after byte. */
  slowestUnpinned: 10_000,
  /** Time until the next content host is asked in parallel. */
  hedgeAfter: 2_000,
} as const;

export type ReadingTimes = Readonly<Record<keyof typeof READING_TIMES, number>>;
