/** Daily copies of the database, each restored once before it gets its name; the newest are kept. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../core/errors.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { makeDirectory } from '../../node-support/make-directory.ts';
import { systemReason } from '../../node-support/system-error.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError, unfit } from '../errors.ts';
import { backUp, tryRestoring } from './backup.ts';

const NAME = /^wispr-\d{4}-\d{2}-\d{2}\.db$/;

export interface DailyBackup {
  readonly file: string;
  /** Tells whether it was made now; that of today is made once. */
  readonly made: boolean;
  readonly removed: readonly string[];
}

/**
 * Writes `wispr-YYYY-MM-DD.db` (UTC) into a folder, which is made where there is none, and removes the oldest of the others. Where today's copy is there
 * already, it is restored once more, and nothing is written.
 *
 * @param keep - how many copies stay, with the new one; at least 1
 * @throws KeyServerError as {@link backUp} does, and `backup-unusable` for a copy that cannot be restored: it is not kept, and no other is removed
 */
export async function backUpDaily(config: KeyServerConfig, folder: string, keep: number): Promise<DailyBackup> {
  const today = `wispr-${new Date(nowInSeconds() * 1000).toISOString().slice(0, 10)}.db`;
  const file = join(folder, today);
  try {
    await makeDirectory(folder, 0o700);
  } catch (cause) {
    throw unfit(`cannot make ${folder}: ${systemReason(cause)}`, cause);
  }
  const made = !existsSync(file);
  if (made) await backUp(config, file, (copy) => demandRestorable(config, copy, 'the copy, which was not kept,'));
  else await demandRestorable(config, file, file);
  // The backup of today stays in any case: others have later names if the clock was ahead.
  const others = readdirSync(folder).filter((name) => NAME.test(name) && name !== today);
  const older = others
    .sort()
    .reverse()
    .slice(keep - 1);
  const removed = older.map((name) => join(folder, name));
  for (const old of removed) rmSync(old, { force: true });
  return { file, made, removed };
}

async function demandRestorable(config: KeyServerConfig, copy: string, name: string): Promise<void> {
  try {
    await tryRestoring(config, copy);
  } catch (cause) {
    throw new KeyServerError('backup-unusable', `${name} cannot be restored: ${reasonOf(cause)}`, { cause });
  }
}
