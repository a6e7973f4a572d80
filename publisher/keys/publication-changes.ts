/** What a publication changes, worked out from what is signed and was signed, never from what somebody says of it: what a signer is shown. */
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { documentEntryOf } from '../../core/publication/document-entry.ts';
import { tufKeyId } from '../../core/publication/keys.ts';
import type { TargetsMetadata } from '../../core/publication/metadata.ts';
import { DESCRIPTOR_TARGET, documentPathOfHead, SETTINGS_TARGET } from '../../core/publication/names.ts';
import type { SectionKeys } from '../../core/publication/writer.ts';
import type { PublicationDraft } from './publication-draft.ts';
import { inForce, sectionsIn } from './publication-draft-check.ts';
import { shortId } from './roots.ts';

/** What is signed, document by document. Paths are in their order. */
export interface PublicationChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Those of the added and changed that everybody can read, and could not before. */
  readonly public: readonly string[];
  /** Versions of the publications that it is compared with. */
  readonly comparedWith: readonly number[];
  /** Lists that are signed, and those of them with nothing to compare: what was removed from these cannot be known. */
  readonly lists: number;
  readonly uncompared: number;
  /** Further lines: settings, descriptor, sections. */
  readonly others: readonly string[];
}

interface Known {
  head?: string;
  content?: string;
  isPublic?: boolean;
}

export async function publicationChanges(draft: PublicationDraft): Promise<PublicationChanges> {
  const { earlier, roles } = draft;
  const isBin = (name: string) => name.startsWith(`${DOCUMENTS_ROLE}-`);
  const old = documentsIn([...earlier].flatMap(([name, role]) => (isBin(name) ? [role] : [])));
  const now = documentsIn(roles.flatMap(({ name, after }) => (isBin(name) ? [after] : [])));
  const paths = [...now.keys()].sort();
  const added = paths.filter((path) => !old.has(path));
  const changed = paths.filter((path) => old.has(path) && !same(old.get(path), now.get(path)));
  const isNewlyPublic = (path: string) => now.get(path)?.isPublic === true && old.get(path)?.isPublic !== true;
  const versions = new Set([...earlier].filter(([name]) => isBin(name)).map(([, { version }]) => version));
  // With other bins, all of the old ones are compared with all of the new ones.
  const bits = (role: TargetsMetadata | undefined) => role?.bins?.bits;
  const sameBins = bits(inForce(draft, DOCUMENTS_ROLE)) === bits(earlier.get(DOCUMENTS_ROLE));
  const oldBins = [...earlier.keys()].filter(isBin).length;
  const whole = !sameBins && oldBins === 2 ** (bits(earlier.get(DOCUMENTS_ROLE)) ?? Number.NaN);
  return {
    added,
    changed,
    removed: [...old.keys()].filter((path) => !now.has(path)).sort(),
    public: [...added, ...changed].filter(isNewlyPublic).sort(),
    comparedWith: [...versions].sort((a, b) => a - b),
    lists: roles.length,
    uncompared: whole ? 0 : roles.filter(({ name }) => isBin(name) && !(sameBins && earlier.has(name))).length,
    others: await otherChanges(draft),
  };
}

/** Heads and contents may be in different bins: a document is what is known of both. */
function documentsIn(bins: readonly TargetsMetadata[]): Map<string, Known> {
  const found = new Map<string, Known>();
  const known = (path: string) => {
    const one = found.get(path) ?? {};
    found.set(path, one);
    return one;
  };
  for (const bin of bins) {
    for (const target of bin.targetPaths()) {
      const info = bin.target(target);
      const path = documentPathOfHead(target);
      if (info === undefined) continue;
      if (path === undefined) known(`/${target}`).content = `${info.sha256} ${info.length}`;
      else {
        const entry = documentEntryOf(info, path);
        Object.assign(known(path), { head: JSON.stringify(entry), isPublic: entry.content !== undefined });
      }
    }
  }
  return found;
}

function same(a: Known | undefined, b: Known | undefined): boolean {
  return a?.head === b?.head && a?.content === b?.content;
}

async function otherChanges(draft: PublicationDraft): Promise<string[]> {
  const [old, now] = [draft.earlier.get('targets'), inForce(draft, 'targets')];
  const isNew = (target: string) => old?.target(target)?.sha256 !== now?.target(target)?.sha256;
  const [before, after] = [await sectionLines(old), await sectionLines(now)];
  return [
    ...(isNew(DESCRIPTOR_TARGET) ? [`the descriptor is: ${fromUtf8(draft.descriptor) ?? ''}`] : []),
    ...(isNew(SETTINGS_TARGET) ? [`the site settings are: ${fromUtf8(draft.settings) ?? ''}`] : []),
    ...[...after].flatMap(([name, line]) => (before.get(name) === line ? [] : [line])),
    ...[...before.keys()].filter((name) => !after.has(name)).map((name) => `section ${name}: there is none any more`),
    ...(sameOrder([...before.keys()], [...after.keys()])
      ? []
      : [`sections, the first that fits signs: ${[...after.keys()].join(', ')}`]),
  ];
}

function sameOrder(before: readonly string[], after: readonly string[]): boolean {
  return before.join('\n') === after.join('\n');
}

async function sectionLines(targets: TargetsMetadata | undefined): Promise<Map<string, string>> {
  const sections = targets === undefined ? [] : sectionsIn(targets);
  return new Map(await Promise.all(sections.map(async (one) => [one.name, await sectionLine(one)] as const)));
}

async function sectionLine({ name, paths, publicKeys, threshold }: SectionKeys): Promise<string> {
  const keyids = (await Promise.all(publicKeys.map(tufKeyId))).sort().map(shortId);
  return `section ${name}: ${threshold} of the keys ${keyids.join(', ')} sign ${paths.join(', ')}`;
}
