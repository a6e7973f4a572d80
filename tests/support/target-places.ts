import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';

/** A folder for the tests of one file, which is gone with them. Each takes a place in it to publish to. */
export class TargetPlaces {
  /** Is empty until the first test. */
  directory = '';
  #number = 0;

  constructor() {
    beforeAll(async () => {
      this.directory = await mkdtemp(join(tmpdir(), 'wispr-places-'));
    });
    afterAll(() => rm(this.directory, { recursive: true }));
  }

  /** A place where nothing is yet. */
  async next(): Promise<{ place: string; target: Target }> {
    const place = join(this.directory, `target${++this.#number}`);
    return { place, target: await openTarget(place) };
  }
}
