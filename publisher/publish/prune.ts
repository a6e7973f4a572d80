/**
 * Removes what no live publication names: docs/spec/publication.md, section 8. A publication lives until it has been replaced for longer than
 * freshness and grace together; when it was replaced, the metadata of its successor at the target say.
 */
import { PublicationError } from '../../core/publication/errors.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { SnapshotMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, SETTINGS_TARGET, targetFile } from '../../core/publication/names.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import { verifyOwnSnapshot, verifyTargets } from '../../core/publication/verify-roles.ts';
import { ROLE_VALIDITY } from '../../core/publication/writer.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { filesOf, isImmutablePath, ownTargetFiles } from '../publication/files.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { contentsOf, delegatedRoles, fileOfRole, metadataFilesOf } from '../publication/roles.ts';
import { PathSet } from './inventory.ts';
import { placeAtTarget } from './places.ts';

export interface PruneOptions {
  readonly target: Target;
  /** That is visible at the target now. */
  readonly publication: OpenedPublication;
  /** Its files. */
  readonly named: PathSet;
  /** Seconds since 1970, by our clock. */
  readonly now: number;
}

export interface Pruned {
  readonly removed: number;
  /** Files of publications that were replaced not long ago. */
  readonly waiting: number;
}

/** Clocks differ, and uploads take time. The same as for `out`. */
const MARGIN = 86_400;
const BATCH = 1000;
const SNAPSHOT = /^(\d+)\.snapshot\.json$/;
const ROOT = /^\d+\.root\.json$/;

export async function pruneTarget(options: PruneOptions): Promise<Pruned> {
  const { target, named, publication } = options;
  const { expires, version } = publication.state.timestamp;
  const keepFor = Math.max(ROLE_VALIDITY.timestamp, expires - version) + (await graceOf(publication)) + MARGIN;
  const before = options.now - keepFor;
  const old = await oldPublications(options, before);
  if (old === undefined) return { removed: 0, waiting: 0 };
  const [kept, pages] = [new PathSet(), new PathSet()];
  for (const snapshot of old) if (!(await addFiles(snapshot, options, kept, pages))) return { removed: 0, waiting: 0 };
  let [removed, waiting] = [0, 0];
  let batch: string[] = [];
  const flush = async () => {
    await target.remove(batch);
    [removed, batch] = [removed + batch.length, []];
  };
  for await (const { path, modified } of target.list('/')) {
    if (named.has(path) || isRoot(path)) continue;
    // A page of a document that is gone: nobody's metadata name it.
    if (pages.has(path)) batch.push(path);
    else if (!isImmutablePath(path)) continue;
    else if (kept.has(path) || modified >= before) waiting++;
    else batch.push(path);
    if (batch.length >= BATCH) await flush();
  }
  await flush();
  return { removed, waiting };
}

/**
 * The publications that readers may still hold; `undefined` if one of them cannot be read any more, because keys have changed: then nothing is
 * removed until it is too old to matter.
 */
async function oldPublications(
  { target, publication }: PruneOptions,
  before: number,
): Promise<SnapshotMetadata[] | undefined> {
  const found: { version: number; modified: number }[] = [];
  for await (const { path, modified } of target.list(METADATA_PATH)) {
    const version = Number(SNAPSHOT.exec(path.slice(METADATA_PATH.length))?.[1]);
    if (version <= publication.state.snapshot.version) found.push({ version, modified });
  }
  found.sort((a, b) => a.version - b.version);
  const live = found.slice(0, -1).filter((_, index) => (found[index + 1]?.modified ?? 0) >= before);
  const snapshots: SnapshotMetadata[] = [];
  for (const { version } of live) {
    const bytes = await target.get(fileOfRole('snapshot', version), PUBLICATION_LIMITS.snapshotLength);
    const snapshot = bytes && ifGood(bytes, publication);
    if (snapshot === undefined) return undefined;
    snapshots.push(snapshot);
  }
  return snapshots;
}

function ifGood(bytes: Uint8Array, { state }: OpenedPublication): SnapshotMetadata | undefined {
  try {
    return verifyOwnSnapshot(bytes, state.root, { verify: verifyEd25519, strict: true });
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}

/**
 * The files of an old publication: those to keep, and the pages of documents, which go if they are not named now.
 *
 * @returns whether all of them are known
 */
async function addFiles(
  snapshot: SnapshotMetadata,
  options: PruneOptions,
  kept: PathSet,
  pages: PathSet,
): Promise<boolean> {
  const current = options.publication.state.snapshot.roles;
  const old = await openOld(snapshot, options);
  if (old === undefined) return false;
  for (const path of metadataFilesOf(old.state)) kept.add(path);
  for (const { path } of ownTargetFiles(old.state)) kept.add(path);
  for await (const role of delegatedRoles(old)) {
    if (role.failure) return false;
    if (current.get(role.name)?.sha256 === role.file.sha256) continue;
    for (const document of (await contentsOf(role)).documents) {
      for (const { path, immutable } of filesOf(document)) (immutable ? kept : pages).add(path);
    }
  }
  return true;
}

async function openOld(
  snapshot: SnapshotMetadata,
  { target, publication }: PruneOptions,
): Promise<OpenedPublication | undefined> {
  const place = placeAtTarget(target);
  const { root } = publication.state;
  const file = snapshot.roles.get('targets');
  const bytes = file && (await place.read(fileOfRole('targets', file.version), PUBLICATION_LIMITS.targetsLength));
  if (!bytes) return undefined;
  const keys = { roleKeys: root.roles.targets, keys: root.keys };
  try {
    const targets = await verifyTargets(bytes, 'targets', keys, file, { verify: verifyEd25519, strict: true });
    return { ...publication, place, state: { ...publication.state, snapshot, targets } };
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}

async function graceOf({ state, place }: OpenedPublication): Promise<number> {
  const target = state.targets.target(SETTINGS_TARGET);
  const bytes = target && (await place.read(targetFile(SETTINGS_TARGET, target.sha256), target.length));
  return bytes ? parseSettings(bytes).grace : PUBLICATION_LIMITS.grace;
}

/** Roots are for good: whoever comes with an old one follows the chain. */
function isRoot(path: string): boolean {
  return path.startsWith(METADATA_PATH) && ROOT.test(path.slice(METADATA_PATH.length));
}
