/** The tier of the tests that run: `npm test` has few and small cases, the release tier many and large ones. */

export const IS_RELEASE = process.env.WISPR_TIER === 'release';

/** Number of runs of a property. @param every - in `npm test` @param release - in the release tier; a property whose run is dear names fewer than 1,000 */
export function runs(every: number, release = 1_000): number {
  return IS_RELEASE ? Math.max(every, release) : every;
}

/** Registers tests that the release tier alone runs, in a file that both tiers run: what sets them up is there once. */
export function inRelease(register: () => void): void {
  if (IS_RELEASE) register();
}
