/** Documents that vanish from a publication: a build that broke, or has not ended, looks like a site whose publisher has removed most of it. */
import { canNameSet, mediaTypeOf } from '../site/media-type.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Plan } from './phases.ts';

export interface Removal {
  readonly documents: number;
  readonly removed: number;
  /** Paths of the first removed ones, in their order. */
  readonly paths: readonly string[];
  /** Tells whether a person has to say that it is meant. */
  readonly isLarge: boolean;
}

/** Documents that may go from a site of any size. */
const ALWAYS = 9;
const PATHS = 10;

/**
 * Finds what a plan takes from the site; `undefined`: nothing. New documents make up for other files, whose names may have a hash that each build
 * changes, and never for pages, whose addresses readers know.
 */
export function removalOf(
  { changes, removed }: Plan,
  index: PublisherIndex,
  { removalPercent }: Pick<Configuration, 'removalPercent'>,
): Removal | undefined {
  if (removed === 0) return undefined;
  const documents = index.countDocuments();
  const least = Math.max(ALWAYS, (documents * removalPercent) / 100);
  const isLarge = removed - changes.added > least || arePagesGone(index, removalPercent);
  return { documents, removed, paths: [...index.gone(PATHS)], isLarge };
}

function arePagesGone(index: PublisherIndex, percent: number): boolean {
  const gone = countPages(index.gone());
  return gone > ALWAYS && gone > (countPages(index.paths()) * percent) / 100;
}

function countPages(paths: Iterable<string>): number {
  let pages = 0;
  for (const path of paths) if (canNameSet(mediaTypeOf(path))) pages++;
  return pages;
}
