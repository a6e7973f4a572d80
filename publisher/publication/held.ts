/** Publications that `wispr publish --at` signed, and that were never confirmed since: no reader has had them. */
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';

/** Publications to remember: files of earlier ones are removed by then. */
const MOST_HELD = 100;

type Held = ReadonlyMap<number, number>;

/** @returns by their versions, until when they were to be held back, seconds since 1970 */
export function heldIn(index: Pick<PublisherIndex, 'fact'>): Held {
  return new Map(JSON.parse(index.fact('held') ?? '[]'));
}

export function heldFact(held: Held): string {
  return JSON.stringify([...held].sort(([a], [b]) => a - b).slice(-MOST_HELD));
}

export function hold(index: PublisherIndex, version: number, until: number): void {
  index.setFact('held', heldFact(new Map([...heldIn(index), [version, until]])));
}

/** Notes that readers may have a publication from now on. */
export function release(index: PublisherIndex, version: number): void {
  const held = heldIn(index);
  if (held.has(version)) index.setFact('held', heldFact(new Map([...held].filter(([each]) => each !== version))));
}
