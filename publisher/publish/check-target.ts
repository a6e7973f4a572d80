/** Checks that a target may be published to: not where another publisher's site lies, nor where another copy of the workspace has gone on. */
import { equalBytes } from '../../core/encoding/bytes.ts';
import { ifGood } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { verifyFirstRoot } from '../../core/publication/verify-roles.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { publicationOther } from '../authority/authority.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import { unknownRoot } from '../protect/published.ts';
import { fileOfRole } from '../publication/roles.ts';
import { readSnapshot, type SignedSnapshot } from '../publication/signed.ts';
import { sourceAtTarget } from '../publication/sources.ts';
import type { Site } from './site.ts';

/**
 * Reads roots and the snapshot of this number at the target. What no key of this site has signed there is damage, and is replaced.
 *
 * @throws PublishError `output-foreign`, `publication-other`
 */
export async function checkTarget(
  target: Target,
  { roots, rootFiles }: Pick<Site, 'roots' | 'rootFiles'>,
  mine: SignedSnapshot,
): Promise<void> {
  await checkRoots(target, roots, rootFiles);
  const { version, sha256 } = mine.file;
  const there = await readSnapshot(version, sourceAtTarget(target), roots);
  if (there && there.file.sha256 !== sha256) throw publicationOther(version, target.name);
}

async function checkRoots(target: Target, roots: Site['roots'], rootFiles: readonly Uint8Array[]): Promise<void> {
  const rootAt = (version: number) =>
    sourceAtTarget(target).read(fileOfRole('root', version), PUBLICATION_LIMITS.rootLength);
  const [own] = rootFiles;
  const first = await rootAt(1);
  if (first && own && !equalBytes(own, first) && (await isFirstRoot(first)))
    throw new PublishError('output-foreign', `${target.name} holds another publisher's site`, {
      fields: { target: target.name },
    });
  const unknown = await unknownRoot(rootAt, rootFiles, roots);
  if (unknown !== undefined)
    throw new PublishError(
      'publication-other',
      `${target.name} has a root ${unknown} that this workspace does not know: the signing keys were changed elsewhere`,
      { fields: { target: target.name } },
    );
}

async function isFirstRoot(bytes: Uint8Array): Promise<boolean> {
  return (await ifGood(() => verifyFirstRoot(bytes, READER_OPTIONS)))?.version === 1;
}
