/**
 * The numbers of publications. Each is above all that readers may have seen, and none can ever be taken back: so what counts as seen is what our
 * keys have signed, and a thief of the snapshot key cannot use all numbers up.
 */
import { PublishError } from '../errors.ts';

/** Nobody gets there by publishing; from what lies about, no higher number is taken over. */
const MOST_FOUND = 2 ** 48;

/**
 * How far a key that was replaced counts above what is known, where none of today has signed anything that is here. The change of keys may have
 * been made in an older key store: then readers, caches and the target may know of later publications. One every nine minutes, for as long as a
 * snapshot is good; and whoever stole such a key uses up one in four thousand million of all numbers.
 */
export const MOST_BY_REPLACED = 65_536;

/** Whoever was made to go on from the highest number above has as many again. */
const MOST_MADE = 2 ** 49;

/**
 * Makes sure that the next publication has a number.
 *
 * @param known - the last publication that `publisher.keys` knows of
 * @param found - the highest number that output and index have
 * @throws PublishError `number-out-of-bounds`
 */
export function checkNumbers(out: string, known: number, found: number): void {
  if (known >= MOST_MADE)
    throw outOfBounds(
      `publisher.keys has used publication ${known}`,
      'bring a publisher.keys from before that, and remove publisher.index',
    );
  if (found > Math.max(MOST_FOUND, known))
    throw outOfBounds(
      `publication ${found} is in ${out}, or in publisher.index, and publisher.keys knows of ${known}`,
      'bring the newest publisher.keys; if that knows nothing of it either, remove publisher.index',
    );
}

function outOfBounds(what: string, hint: string): PublishError {
  return new PublishError('number-out-of-bounds', `${what}: nobody gets so far by publishing`, {
    hint: `${hint}. Somebody else has had your snapshot key: "wispr keys rotate snapshot" and "wispr keys rotate timestamp", then publish with --replace-newer`,
  });
}
