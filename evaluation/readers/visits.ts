/** Visits of readers: made once from a seed, and replayed for each way of reading and each cache. */
import { createHash } from 'node:crypto';
import type { Page } from './pages.ts';
import { seeded, shuffled, zipf } from './random.ts';

export const SEED = 22;
export const EXPONENT = 0.9;
export const PAGES_A_VISIT = 10;

/** The documents of one reader in the order in which the network is asked for them: each once, for a browser keeps what it has. */
export type Visit = readonly string[];

export function visitsOf(pages: readonly Page[], readers: number): Visit[] {
  const random = seeded(SEED);
  const ranked = shuffled(pages, random);
  const draw = zipf(ranked.length, EXPONENT, random);
  return Array.from({ length: readers }, () => {
    const documents = new Set<string>();
    for (let count = 0; count < PAGES_A_VISIT; count++) {
      const { path, loads } = ranked[draw()] as Page;
      for (const document of [path, ...loads]) documents.add(document);
    }
    return [...documents];
  });
}

/** Returns a digest that tells sequences apart. */
export function digestOf(visits: readonly Visit[]): string {
  return createHash('sha256').update(JSON.stringify(visits)).digest('hex').slice(0, 16);
}
