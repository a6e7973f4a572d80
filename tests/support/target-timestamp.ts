/** The timestamp at a target: what it says, and what may become of it. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { alteredTarget } from './altered-target.ts';

export const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;

/** What ends a run at a target {@link withoutPower}. */
export const NO_POWER = 'no power';

/** What a timestamp says. */
export interface Said {
  /** The version that it is for. */
  readonly publication: number;
  readonly withdrawn: readonly number[];
}

export function saidBy(bytes: Uint8Array): Said {
  const { signed } = JSON.parse(Buffer.from(bytes).toString());
  return { publication: signed.meta['snapshot.json'].version, withdrawn: signed['x-wispr-withdrawn'] ?? [] };
}

export async function saidAt(directory: string): Promise<Said> {
  return saidBy(await readFile(join(directory, TIMESTAMP)));
}

/** The run is killed while the timestamp is put: the host has it by then, or not. */
export function withoutPower(honest: Target, cut: 'taken' | 'lost'): Target {
  return alteredTarget(honest, {
    put: async (path, ...rest) => {
      if (path !== TIMESTAMP || cut === 'taken') await honest.put(path, ...rest);
      if (path === TIMESTAMP) throw new Error(NO_POWER);
    },
  });
}

/** It cannot be read or written; @returns mends that. */
export async function breakTimestamp(directory: string): Promise<() => Promise<void>> {
  const file = join(directory, TIMESTAMP);
  const bytes = await readFile(file);
  await rm(file);
  await mkdir(file);
  return async () => {
    await rm(file, { recursive: true });
    await writeFile(file, bytes);
  };
}
