/** What the role `targets` names itself: the descriptor and the site settings. */
import { join } from 'node:path';
import { hexDigest } from '../../core/encoding/digest.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { ownTargetsOf, targetFile } from '../../core/publication/names.ts';
import { fileTarget } from '../../core/publication/writer.ts';
import { replaceOutputFile } from './replace-output-file.ts';
import type { PublicationContext } from './signing-plan.ts';

type Own = Pick<PublicationContext, 'descriptor' | 'settings'>;

/** The descriptor and the settings, at their immutable names. */
export async function putTargets({
  out,
  index,
  ownTargets: there,
  ...own
}: Own & Pick<PublicationContext, 'out' | 'index' | 'ownTargets'>): Promise<void> {
  for (const [target, bytes] of ownTargetsOf(own)) {
    const hash = await hexDigest(bytes);
    const file = targetFile(target, hash);
    if (!there.has(hash)) await replaceOutputFile(join(out, file), bytes, { sync: true });
    index.unretire(file);
  }
}

/** As the role names them. */
export function ownTargets(own: Own): Promise<[string, TufObject][]> {
  return Promise.all(
    ownTargetsOf(own).map(async ([target, bytes]) => [target, await fileTarget(bytes)] as [string, TufObject]),
  );
}

/** What the role `targets` says, in one line. */
export async function targetFacts({ sections, ...own }: Own & Pick<PublicationContext, 'sections'>): Promise<string> {
  const hashes = await Promise.all(ownTargetsOf(own).map(([, bytes]) => hexDigest(bytes)));
  return [...hashes, sections.facts()].filter(Boolean).join(' ');
}
