/** A publication with as many bins as there can be: what documents beyond some 10^9 do not make any larger, but their bins. */
import { median, milliseconds } from '../../bench/measure.ts';
import { publicationOf, readCold } from '../../bench/publication-of.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';

const RUNS = 9;
/** The fewest that give each bin about one. */
const DOCUMENTS = 2 ** PUBLICATION_LIMITS.binBits;

export interface LargestSnapshot {
  readonly bins: number;
  readonly bytes: number;
  /** Milliseconds of a reader that begins with nothing, from memory. */
  readonly check: number;
}

export async function largestSnapshot(): Promise<LargestSnapshot> {
  const now = nowInSeconds();
  const publication = await publicationOf(DOCUMENTS, now, PUBLICATION_LIMITS.binBits);
  const bytes = publication.files.get(`${METADATA_PATH}1.snapshot.json`)?.length ?? Number.NaN;
  const runs: number[] = [];
  while (runs.length < RUNS) runs.push(await milliseconds(() => readCold(publication, now)));
  return { bins: DOCUMENTS, bytes, check: median(runs) };
}
