/**
 * Clean-up, here and in `out` (publisher/protect/files.ts); docs/spec/publication.md, section 8:
 *
 * 1. It begins after a confirmation, where the timestamp that lies there names the publication which was confirmed; else nothing is removed.
 * 2. What this publication names stays, however old it is. Roots stay.
 * 3. A publication is replaced when one above it was confirmed, never by being uploaded: weeks in which publishing is refused replace nothing.
 * 4. What replaced publications name stays for freshness, grace and a day after that: readers may be in the middle of one.
 * 5. When a publication was replaced, this workspace notes; one that it has no note of is replaced now.
 * 6. If a publication of rule 4 cannot be read, nothing immutable goes.
 * 7. Files that no publication names are kept for as long after they came: another run may be bringing them.
 * 8. Pages and copies, which no publication names, go at once with their documents.
 * 9. Times are those of this machine and of the authority; where they differ, the one that keeps files longer applies.
 * 10. A target that was looked at in part is not listed: it loses what `out` loses, before `out` does.
 */
import { ifGood } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, SETTINGS_TARGET, targetFile } from '../../core/publication/names.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import { KEY_FILES_PATH } from '../../core/site/path.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { filesOf, isImmutablePath, ownTargetFiles } from '../publication/files.ts';
import { contentsOf, delegatedRoles, metadataFilesOf } from '../publication/roles.ts';
import { openSnapshot, readSnapshot, rootsOf, type SnapshotPublication } from '../publication/signed.ts';
import { sourceAtTarget } from '../publication/sources.ts';
import { isKeyFilePath } from '../serverless/key-files.ts';
import { READING_SITE_FILES } from '../serverless/reading-site.ts';
import { copyOf, KeptListing, PathSet } from './inventory.ts';

export interface PruneOptions {
  readonly target: Target;
  readonly publication: SnapshotPublication;
  readonly named: PathSet;
  /** Tells since when a confirmed publication has been in the place of one, seconds since 1970. */
  readonly replacedAt: (version: number) => number;
  /** Time since when a replaced publication is still in use. */
  readonly before: number;
  /** Bytes for names that are kept; what this process has if left out. */
  readonly room?: number;
  /** Ends the clean-up; the next run goes on. */
  readonly signal?: AbortSignal;
}

export interface Pruned {
  readonly removed: number;
  /** Files of publications that were replaced not long ago. */
  readonly waiting: number;
}

const BATCH = 1000;
const SNAPSHOT = /^(\d+)\.snapshot\.json$/;
const ROOT = /^\d+\.root\.json$/;

/** @returns what was done, be it all or not */
export async function pruneTarget(options: PruneOptions): Promise<Pruned> {
  const done: Counts = { removed: 0, waiting: 0 };
  try {
    await prune(options, done);
  } catch (error) {
    if (!(options.signal?.aborted && error instanceof StorageError)) throw error;
  }
  return done;
}

type Counts = { -readonly [Name in keyof Pruned]: Pruned[Name] };

async function prune(options: PruneOptions, done: Counts): Promise<void> {
  const { target, publication, signal, replacedAt, before } = options;
  const roots = await rootsOf(publication);
  const asked = new Set<string>();
  for await (const { name } of delegatedRoles(publication)) asked.add(name);
  const found: KnownFiles = { kept: new PathSet(), pages: new PathSet(), complete: true };
  const old = (await oldSnapshots(options)).map((version) => ({ version, live: replacedAt(version) >= before }));
  for (const { version, live } of old) {
    if (signal?.aborted) return;
    await addPublication(await openOld(version, target, roots), live, publication.state, asked, found);
  }
  await removeUnnamed(options, found, done);
}

async function removeUnnamed(options: PruneOptions, found: KnownFiles, done: Counts): Promise<void> {
  const { target, named, signal, room, before } = options;
  const kept = new KeptListing(target, room);
  const flush = async (batch: string[]) => {
    if (signal?.aborted) return;
    await target.remove(batch);
    done.removed += batch.length;
  };
  const batch: string[] = [];
  // Metadata that are old say which pages are gone, so they go last: a run that is interrupted can be repeated.
  const metadata: string[] = [];
  for await (const { path, modified } of target.list('/')) {
    if (signal?.aborted) return;
    if (named.has(path) || isRoot(path)) continue;
    // A page of a document that is gone: no metadata name it.
    if (found.pages.has(path) || isAlone(path)) batch.push(path);
    else if (!isImmutablePath(path)) continue;
    else if (!found.complete || found.kept.has(path) || modified >= before) done.waiting++;
    else if (path.startsWith(METADATA_PATH)) {
      kept.addMetadata(path);
      metadata.push(copyOf(path));
    } else batch.push(path);
    if (batch.length >= BATCH) await flush(batch.splice(0));
  }
  await flush(batch);
  while (metadata.length > 0) await flush(metadata.splice(0, BATCH));
}

/** Finds the publications before this one of which the target still has the snapshot. */
async function oldSnapshots({ target, publication, signal }: PruneOptions): Promise<number[]> {
  const versions = new Set<number>(); // a listing may repeat a file
  for await (const { path } of target.list(METADATA_PATH)) {
    if (signal?.aborted) return [];
    const version = Number(SNAPSHOT.exec(path.slice(METADATA_PATH.length))?.[1]);
    if (version < publication.state.snapshot.version) versions.add(version);
  }
  return [...versions].sort((a, b) => a - b);
}

interface KnownFiles {
  /** Files that readers may still ask for. */
  readonly kept: PathSet;
  /** Pages and copies of documents: they go if they are not named now, however new the publication is that had them. */
  readonly pages: PathSet;
  /** Tells whether every live publication could be read. If not, no immutable file is removed until that publication is too old to matter. */
  complete: boolean;
}

/** @param asked - roles that readers of the current publication ask: its snapshot goes on naming those that were given up */
async function addPublication(
  old: SnapshotPublication | undefined,
  live: boolean,
  { snapshot: current }: SnapshotPublication['state'],
  asked: ReadonlySet<string>,
  found: KnownFiles,
): Promise<void> {
  const keep = (path: string) => live && found.kept.add(path);
  let complete = old !== undefined;
  if (old) {
    for (const path of metadataFilesOf(old.state)) keep(path);
    for (const { path } of ownTargetFiles(old.state)) keep(path);
    for await (const role of delegatedRoles(old)) {
      if (role.failure) complete = false;
      if (asked.has(role.name) && current.roles.get(role.name)?.sha256 === role.file.sha256) continue;
      for (const document of (await contentsOf(role)).documents) {
        for (const { path, immutable } of filesOf(document)) immutable ? keep(path) : found.pages.add(path);
      }
    }
  }
  if (live && !complete) found.complete = false;
}

/**
 * Opens an old publication at the target; `undefined` if it cannot be read any more. An attacker with replaced keys who can write to the target
 * could make us keep files, or remove pages that are not named now: no more than they can do there without us.
 */
async function openOld(
  version: number,
  target: Target,
  roots: readonly RootMetadata[],
): Promise<SnapshotPublication | undefined> {
  const place = sourceAtTarget(target);
  const signed = await readSnapshot(version, place, roots);
  return signed && ifGood(() => openSnapshot(signed, place, roots));
}

/** Returns seconds for which readers show a publication whose timestamp has ended. */
export async function graceOf({ state, source }: SnapshotPublication): Promise<number> {
  const target = state.targets.target(SETTINGS_TARGET);
  const bytes = target && (await source.read(targetFile(SETTINGS_TARGET, target.sha256), target.length));
  return bytes ? parseSettings(bytes).grace : PUBLICATION_LIMITS.grace;
}

/** Finds files of {@link isAlone} at a target that are not named any more. */
export async function endedAt(target: Target, named: PathSet): Promise<string[]> {
  const paths = [...READING_SITE_FILES];
  for await (const { path } of target.list(KEY_FILES_PATH)) if (isKeyFilePath(path)) paths.push(path);
  const ended = [];
  for (const path of paths) if (!named.has(path) && (await target.head(path))) ended.push(path);
  return ended;
}

/** Tells whether a file is of a site without a key server: an invitation or the reading site. */
function isAlone(path: string): boolean {
  return isKeyFilePath(path) || READING_SITE_FILES.includes(path);
}

/** Tells a root, which stays for good: a reader with an old one follows the chain. */
function isRoot(path: string): boolean {
  return path.startsWith(METADATA_PATH) && ROOT.test(path.slice(METADATA_PATH.length));
}
