/**
 * Whether the signed files of the output are those that the index believes in. Their names have a version and no hash, so where the output, or the
 * index, was put back from another time or another copy of the workspace, a file of the right name may be another one. Each is hashed once, and
 * again only where it is not the very file that was looked at before: a large site has hundreds of them.
 */
import { type BigIntStats, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { MetaFile, RootMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile } from '../../core/publication/names.ts';
import { bootId } from '../../node-support/boot.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import type { RoleRow } from '../index/rows.ts';
import { identityOf } from '../site/walk.ts';
import { readTimestamp, recoverRoles } from './earlier-publication.ts';
import { digestOf } from './output-reading.ts';

/** What became of the publication that the index describes. */
export interface SignedFiles {
  /** Identities of the files that are as they were signed, by their names. */
  readonly good: ReadonlyMap<string, string>;
  /** Names under which other files lie that no publication names. */
  readonly litter: ReadonlySet<string>;
  /** Whether all of it is there. */
  readonly isWhole: boolean;
  /** What the output shows its readers, if the index knows nothing of it: what its snapshot names; perhaps nothing that was signed here. */
  readonly others: readonly RoleRow[] | undefined;
}

/**
 * Looks at the signed files in the output.
 *
 * @param roots - of this publisher, the newest first
 */
export async function inspectSignedFiles(
  out: string,
  index: PublisherIndex,
  roots: readonly RootMetadata[],
): Promise<SignedFiles> {
  const rows = index.roles();
  const timestamp = await readTimestamp(out);
  const known = [markOf(rows.get('snapshot')), index.fact('shown')];
  const isAnother = timestamp !== undefined && !known.includes(markOf(timestamp.snapshot));
  const recovered = isAnother ? await recoverRoles(out, timestamp.snapshot.version, roots) : undefined;
  const named = new Set(recovered?.rows.map(({ name, version }) => metadataFile(name, version)));
  if (recovered) named.add(metadataFile('snapshot', recovered.version));
  const before = identitiesIn(index);
  const [good, litter] = [new Map<string, string>(), new Set<string>()];
  for (const row of rows.values()) {
    const name = metadataFile(row.name, row.version);
    const identity = await identityIfGood(join(out, METADATA_PATH, name), row, before[name]);
    if (identity !== undefined) good.set(name, identity);
    else if (!named.has(name)) litter.add(name);
  }
  const others = isAnother ? (recovered?.rows ?? []) : undefined;
  return { good, litter, isWhole: good.size === rows.size, others };
}

/**
 * Notes of a publication that is shown now which files were looked at, or written, in this run.
 *
 * @param good - those that were looked at
 * @param written - the version of those that were written
 */
export function noteSignedFiles(
  out: string,
  index: PublisherIndex,
  { good }: Pick<SignedFiles, 'good'>,
  written: number | undefined,
): void {
  const rows = index.roles();
  const identities: Record<string, string> = {};
  for (const { name, version } of rows.values()) {
    const file = metadataFile(name, version);
    const stats = version === written ? statOf(join(out, METADATA_PATH, file)) : undefined;
    const identity = stats ? identityOf(stats) : good.get(file);
    if (identity !== undefined) identities[file] = identity;
  }
  const text = JSON.stringify(identities);
  index.transaction(() => {
    if (index.fact('signedFiles') !== text) index.setFact('signedFiles', text);
    index.setFact('shown', markOf(rows.get('snapshot')) ?? '');
  });
}

/** After a start of the machine, none: what a power cut left under a file's name need not be what was written. */
function identitiesIn(index: PublisherIndex): Readonly<Partial<Record<string, string>>> {
  return index.fact('boot') === bootId() ? JSON.parse(index.fact('signedFiles') ?? '{}') : {};
}

/** @param before - when the file was found good, or written */
function identityIfGood(file: string, { length, sha256 }: RoleRow, before: string | undefined): string | undefined {
  const stats = statOf(file);
  if (!stats?.isFile() || Number(stats.size) !== length) return undefined;
  const identity = identityOf(stats);
  return identity === before || digestOf(file) === sha256 ? identity : undefined;
}

function statOf(file: string): BigIntStats | undefined {
  return lstatSync(file, { bigint: true, throwIfNoEntry: false });
}

/** What tells one publication from all others. */
function markOf(snapshot: Pick<MetaFile, 'version' | 'sha256'> | undefined): string | undefined {
  return snapshot && `${snapshot.version} ${snapshot.sha256}`;
}
