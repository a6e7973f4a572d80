/** Takes away what was installed, and on request everything that the Reader keeps; touches nothing else. */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDERS } from '../documents/cache/layout.ts';
import { ReaderError } from '../errors.ts';
import { discardKeyOf } from '../identity/manage.ts';
import { readUnit, UNIT_NAME, unitFile, unitFolders, wantsLink } from '../running/unit.ts';
import { cacheDirectoryFor, DATABASE_FILES, defaultDataDirectory, defaultKeyFile } from '../store/locations.ts';
import { refuseForeign, refuseRunning } from './install.ts';
import { serviceState, systemctl } from './systemctl.ts';

const IN_USE = 'and what is to be erased is in use';

/** Where everything is that may be erased. */
export interface ReaderFiles {
  readonly dataDirectory: string;
  readonly cacheDirectory: string;
  /** `undefined`: not to be erased, because other databases may need it. */
  readonly keyFile: string | undefined;
}

/** Where the Reader's files are, with what was given and what is usual. The usual key belongs to the usual database. */
export function readerFiles({ dataDirectory, keyFile }: { dataDirectory?: string; keyFile?: string }): ReaderFiles {
  return {
    dataDirectory: dataDirectory ?? defaultDataDirectory(),
    cacheDirectory: cacheDirectoryFor(dataDirectory),
    keyFile: keyFile ?? (dataDirectory === undefined ? defaultKeyFile() : undefined),
  };
}

export interface Removal {
  /** What is there to be removed, each by its name. */
  readonly unit: readonly string[];
  readonly data: readonly string[];
}

/**
 * What a removal would remove.
 *
 * @throws ReaderError `service-failed`
 */
export async function planRemoval(files: ReaderFiles): Promise<Removal> {
  refuseForeign(await serviceState());
  const { dataDirectory, cacheDirectory, keyFile } = files;
  const data = [
    ...DATABASE_FILES.map((name) => join(dataDirectory, name)),
    ...(keyFile === undefined ? [] : [keyFile]),
    ...CACHE_FOLDERS.map((name) => join(cacheDirectory, name)),
  ];
  return { unit: [wantsLink(), unitFile()].filter(isThere), data: data.filter(existsSync) };
}

/**
 * Stops the service and removes its unit.
 *
 * @returns what was removed; folders that are empty now among it
 * @throws ReaderError `service-failed`
 */
export async function removeService(): Promise<string[]> {
  const state = await serviceState();
  refuseForeign(state);
  const there = [wantsLink(), unitFile()].filter(isThere);
  const own = readUnit(unitFile()) !== undefined;
  if (state.manager === 'answers' && (own || state.active)) await systemctl('disable', '--now', UNIT_NAME);
  for (const file of there) rmSync(file, { force: true });
  if (state.manager === 'answers' && there.length > 0) await systemctl('daemon-reload');
  return there.length === 0 ? [] : [...there, ...unitFolders().filter(removeIfEmpty)];
}

/**
 * Whether anything is in the way of erasing, once the service is stopped: so that nothing is removed before that is known.
 *
 * @throws ReaderError `service-failed`, `reader-running`, `reader-unreachable`
 */
export async function checkErasable({ dataDirectory }: ReaderFiles): Promise<void> {
  const state = await serviceState();
  refuseForeign(state);
  if (!state.active) await refuseRunning(dataDirectory, IN_USE);
  else await refuseRunning(dataDirectory, IN_USE, state.process).catch(unlessSilent); // it will be ended
}

function unlessSilent(error: unknown): void {
  if (!(error instanceof ReaderError) || error.code !== 'reader-unreachable') throw error;
}

/**
 * Erases database, key and cache: the sites are not connected any more.
 *
 * @returns what was removed
 * @throws ReaderError `reader-running` while one uses them, `reader-unreachable` where that one does not answer
 */
export async function eraseData(files: ReaderFiles): Promise<string[]> {
  await refuseRunning(files.dataDirectory, IN_USE);
  const { data } = await planRemoval(files);
  await discardKeyOf(files.dataDirectory).catch((error: unknown) => {
    if (error instanceof ReaderError && error.code === 'store-busy') throw error;
    // a damaged database is erased as well
  });
  for (const path of data) rmSync(path, { recursive: true, force: true });
  const folders = [files.cacheDirectory, files.dataDirectory, ...(files.keyFile ? [join(files.keyFile, '..')] : [])];
  return [...data, ...[...new Set(folders)].filter(removeIfEmpty)];
}

/** A folder that holds something else stays. */
function removeIfEmpty(folder: string): boolean {
  if (!existsSync(folder) || readdirSync(folder).length > 0) return false;
  rmdirSync(folder);
  return true;
}

/** Also a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
