/** Loads of public pages as others have recorded them, reduced to facts; `about` in recordings.json says what each number of a resource is. */
import { readFileSync } from 'node:fs';

// biome-ignore format: one line for each would say no more
export type Resource = readonly [parent: number, host: number, type: number, asked: number, head: number, body: number, flags: number];

export interface Page {
  readonly name: string;
  /** The day. */
  readonly on: string;
  readonly hosts: readonly string[];
  readonly resources: readonly Resource[];
}

export interface Recordings {
  readonly types: readonly string[];
  readonly pages: readonly Page[];
}

export function readRecordings(): Recordings {
  return JSON.parse(readFileSync(new URL('recordings.json', import.meta.url), 'utf8'));
}

/** Counts heads too. */
export function bytesOf(resources: readonly Resource[]): number {
  return resources.reduce((sum, [, , , , head, body]) => sum + head + body, 0);
}
