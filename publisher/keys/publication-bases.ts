/**
 * What a publication that waits for signatures is compared with: lists that the same keys signed before, bin with bin. Nothing else may stand
 * among them, and no path but those of the bin: a list with foreign paths would make these look as if they had been there before.
 */
import { binIndex, binName, DOCUMENTS_ROLE, pathHashOf } from '../../core/publication/bins.ts';
import type { TargetsMetadata } from '../../core/publication/metadata.ts';
import { isSectionName } from '../../core/publication/sections.ts';
import { SECTION_LIMITS, sectionPathsOf } from '../site/sections.ts';

/** The bits of the bins that a role `documents` leads to. */
export function bitsOf(documents: TargetsMetadata | undefined): number | undefined {
  return documents?.bins?.bits;
}

/** The number of a bin; `undefined` if it is not the name of one. */
function numberOfBin(name: string, bits: number): number | undefined {
  const number = Number.parseInt(name.slice(DOCUMENTS_ROLE.length + 1), 16);
  const isOne = number >= 0 && number < 2 ** bits && binName(number, bits) === name;
  return isOne ? number : undefined;
}

/**
 * The list that a bin is compared with: that of the same name, or, where there are more bins now, the one that it was a part of.
 *
 * @param bits - of the bins now
 * @param before - of the bins before
 */
export function baseOfBin(name: string, bits: number, before: number): string {
  return binName((numberOfBin(name, bits) ?? 0) >> (bits - before), before);
}

/**
 * Whether a list can be what others are compared with.
 *
 * @param before - the bits of the bins before; without, no bin can be
 */
export async function isBase(name: string, list: TargetsMetadata, before: number | undefined): Promise<boolean> {
  const delegates = list.bins !== undefined || list.delegations.length > 0;
  if (name === 'targets') return hasGoodSections(list);
  if (name === DOCUMENTS_ROLE) return list.bins?.namePrefix === DOCUMENTS_ROLE && list.targetPaths().length === 0;
  return before !== undefined && !delegates && (await holdsOnlyItsOwn(name, list, before));
}

/** Whether `targets` delegates to sections as they may be, of patterns as they are made of paths, and to the documents last. */
export function hasGoodSections({ bins, delegations }: TargetsMetadata): boolean {
  const sections = delegations.slice(0, -1);
  const isLast = delegations.at(-1)?.name === DOCUMENTS_ROLE;
  const isGood = sections.every(({ name, paths }) => isSectionName(name) && hasGoodPaths(paths ?? []));
  return bins === undefined && isLast && isGood && sections.length <= SECTION_LIMITS.sections;
}

/** Signers are shown paths, not patterns: so these have to say all of them. */
function hasGoodPaths(patterns: readonly string[]): boolean {
  const paths = patterns.length <= SECTION_LIMITS.patterns ? sectionPathsOf(patterns) : undefined;
  return paths !== undefined && paths.length > 0;
}

/** Whether every path of a bin hashes into it. */
export async function holdsOnlyItsOwn(name: string, list: TargetsMetadata, bits: number): Promise<boolean> {
  const number = numberOfBin(name, bits);
  if (number === undefined) return false;
  for (const path of list.targetPaths()) if (binIndex(await pathHashOf(path), bits) !== number) return false;
  return true;
}
