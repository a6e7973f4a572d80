/** The sections of a publication, for its signers: all of them, in the order in which readers ask them, and which are others than before. */
import { tufKeyId } from '../../core/publication/keys.ts';
import type { TargetsMetadata } from '../../core/publication/metadata.ts';
import type { SectionKeys } from '../../core/publication/writer.ts';
import { sectionPathsOf } from '../site/sections.ts';
import { sectionsIn } from './publication-draft-check.ts';

export interface ShownSection {
  readonly name: string;
  /** Key ids of those who may sign for it. */
  readonly keyids: readonly string[];
  readonly threshold: number;
  /** Which paths, as `wispr.json` has them: nothing else can be made of other patterns. */
  readonly paths: readonly string[];
  readonly is: 'as before' | 'new' | 'changed';
}

export interface SectionsShown {
  /** The first that fits signs for a document. */
  readonly list: readonly ShownSection[];
  readonly removed: readonly string[];
  /** Whether those that were there before stand in another order now. */
  readonly reordered: boolean;
}

/** What becomes of the sections. */
export async function sectionsOf(
  before: TargetsMetadata | undefined,
  after: TargetsMetadata | undefined,
): Promise<SectionsShown> {
  const [old, now] = [await listOf(before), await listOf(after)];
  const known = new Map(old.map((section) => [section.name, JSON.stringify(section)]));
  const isOf = (section: Bare) => {
    const one = known.get(section.name);
    return one === undefined ? 'new' : one === JSON.stringify(section) ? 'as before' : 'changed';
  };
  const inBoth = (a: readonly Bare[], b: readonly Bare[]) =>
    a.map(({ name }) => name).filter((name) => b.some((other) => other.name === name));
  return {
    list: now.map((section) => ({
      ...section,
      paths: sectionPathsOf(section.paths) ?? section.paths,
      is: isOf(section),
    })),
    removed: old.map(({ name }) => name).filter((name) => now.every((section) => section.name !== name)),
    reordered: inBoth(old, now).join() !== inBoth(now, old).join(),
  };
}

/** With the patterns that are signed. */
type Bare = Omit<ShownSection, 'is'>;

function listOf(targets: TargetsMetadata | undefined): Promise<Bare[]> {
  return Promise.all(targets === undefined ? [] : sectionsIn(targets).map(bare));
}

async function bare({ name, paths, publicKeys, threshold }: SectionKeys): Promise<Bare> {
  return { name, keyids: (await Promise.all(publicKeys.map(tufKeyId))).sort(), threshold, paths };
}
