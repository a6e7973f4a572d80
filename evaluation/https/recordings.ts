/** Loads of public pages as others have recorded them (`.har`), reduced to facts; `about` in recordings.json says what each number is. */
import { readFileSync } from 'node:fs';

export type Resource = readonly [
  parent: number,
  host: number,
  type: number,
  asked: number,
  head: number,
  body: number,
  flags: number,
];

interface Page {
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

/** Bits of `flags`. */
export const [SECURE, SHARED, ENCODED] = [1, 2, 4];

export function readRecordings(): Recordings {
  return JSON.parse(readFileSync(new URL('recordings.json', import.meta.url), 'utf8'));
}

/** With heads. */
export function bytesOf(resources: readonly Resource[]): number {
  return resources.reduce((sum, [, , , , head, body]) => sum + head + body, 0);
}
