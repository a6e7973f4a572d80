import { join } from 'node:path';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A folder for the tests of one file. Each takes a place in it to publish to. */
export class TargetPlaces {
  readonly directory = temporaryFolder();
  #number = 0;

  /** A place where nothing is yet. */
  async next(): Promise<{ place: string; target: Target }> {
    const place = join(this.directory, `target${++this.#number}`);
    return { place, target: await openTarget(place) };
  }
}
