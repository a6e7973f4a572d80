/** What the index has learned of publications that were made elsewhere: only what a signed snapshot says may become part of the next one. */
import type { RootMetadata } from '../../core/publication/metadata.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import type { RoleRow } from '../index/rows.ts';
import { isListName, readSnapshot, readTimestamp } from './earlier-publication.ts';

/**
 * Takes from the index what no snapshot of ours can name; and, once, what an earlier version of this program took from a snapshot whose signature
 * nobody had checked: lists that were not signed here, and that neither the last snapshot of ours nor the one that is shown names as they stand.
 *
 * @param roots - of this publisher, the newest first
 */
export async function forgetUnsigned(
  out: string,
  index: PublisherIndex,
  roots: readonly RootMetadata[],
): Promise<void> {
  const rows = [...index.roles().values()].filter(({ name }) => name !== 'snapshot');
  const impossible = rows.filter(({ name }) => !isListName(name));
  const learned = index.fact('learned') === undefined ? rows.filter(({ expires }) => expires === 0) : [];
  const isNamed = learned.length > 0 ? await namedBySigned(out, index, roots) : () => true;
  const gone = [...impossible, ...learned.filter((row) => isNamed?.(row) === false)];
  index.transaction(() => {
    index.forgetRoles(gone.map(({ name }) => name));
    if (isNamed && index.fact('learned') === undefined) index.setFact('learned', 'signed');
  });
}

/** @returns `undefined` where no signed snapshot is there to tell */
async function namedBySigned(
  out: string,
  index: PublisherIndex,
  roots: readonly RootMetadata[],
): Promise<((row: RoleRow) => boolean) | undefined> {
  const versions = [index.roles().get('snapshot')?.version, (await readTimestamp(out))?.snapshot.version];
  const found = await Promise.all(
    [...new Set(versions)].map((version) => version && readSnapshot(out, version, roots)),
  );
  const snapshots = found.flatMap((snapshot) => snapshot || []);
  if (snapshots.length === 0) return undefined;
  return ({ name, version, sha256 }) => {
    return snapshots
      .map(({ roles }) => roles.get(name))
      .some((file) => file?.version === version && file.sha256 === sha256);
  };
}
