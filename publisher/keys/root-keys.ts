/** The seeds in `root.keys`: which of them are still to be named by a root, and which are not named any more. */
import { randomBytes } from '#primitives';
import { KEY_LENGTH } from '../../core/keys/key-id.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { parseRoot } from '../../core/publication/metadata.ts';
import { replaceFile } from './file-update.ts';
import type { OpenSigningKeys } from './signing-keys.ts';

/** A fresh key, on the disk, or the one that an interrupted run made and no root names yet. */
export async function freshRootSeed(
  file: string,
  rootKeys: OpenSigningKeys,
  roots: readonly Uint8Array[],
): Promise<{ seed: Uint8Array; rootKeys: OpenSigningKeys }> {
  const ever = new Set(roots.flatMap(rootKeyIds));
  const unused = rootKeys.seeds.find((_, index) => !ever.has(idAt(rootKeys, index)));
  if (unused !== undefined) return { seed: unused, rootKeys };
  const seed = randomBytes(KEY_LENGTH);
  const { bytes, keys } = await rootKeys.withSeeds([...rootKeys.seeds, seed]);
  await replaceFile(file, bytes);
  return { seed, rootKeys: keys };
}

/**
 * Removes root keys that an earlier root named, and the last one does not.
 *
 * @returns whether there were any
 */
export async function dropRetiredRootKeys(
  file: string,
  rootKeys: OpenSigningKeys,
  roots: readonly Uint8Array[],
): Promise<boolean> {
  const ever = new Set(roots.flatMap(rootKeyIds));
  const current = roots.slice(-1).flatMap(rootKeyIds);
  const isRetired = (keyid: string) => ever.has(keyid) && !current.includes(keyid);
  const kept = rootKeys.seeds.filter((_, index) => !isRetired(idAt(rootKeys, index)));
  if (kept.length === rootKeys.seeds.length) return false;
  const { bytes } = await rootKeys.withSeeds(kept);
  await replaceFile(file, bytes);
  return true;
}

function idAt({ signers }: OpenSigningKeys, index: number): string {
  return signers[index]?.keyid ?? '';
}

function rootKeyIds(root: Uint8Array): readonly string[] {
  return parseRoot(openEnvelope(root, 'root').signed()).roles.root.keyids;
}
