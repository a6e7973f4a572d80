/**
 * Plans the metadata to sign, their keys and their contents: docs/spec/publication.md, sections 2 to 4. Metadata that did not change and do not
 * expire soon keep their signatures.
 */
import { join } from 'node:path';
import { hexDigest } from '../../core/encoding/digest.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { binBitsFor, binName, DOCUMENTS_ROLE, isBinName } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { type DocumentEntry, encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { contentTargetOf, headTargetOf, metadataFile, targetFile } from '../../core/publication/names.ts';
import { binMetadata, documentsMetadata, fileTarget, targetsMetadata } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { count } from '../text.ts';
import type { PublishedDocument, PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { RoleRow } from '../workspace/index/schema.ts';
import type { Inspected } from './phases.ts';
import type { PublicationRoles } from './roles.ts';
import type { RunSection, RunSections } from './sections.ts';
import { replaceOutputFile } from './writers/files.ts';

/** Roles that expire sooner are signed again. */
const RENEWAL = 90 * 86_400;

/** Bits of the numbers by which the index finds the documents of a bin. */
const INDEX_BITS = 16;

export interface Signing extends Pick<Inspected, 'index' | 'keys' | 'output' | 'roles' | 'sections'> {
  readonly out: string;
  readonly now: number;
  /** Bytes of the descriptor and of the site settings, by their target paths. */
  readonly ownTargets: OwnTargets;
  /** Time until which `wispr publish --at` holds back what is signed. */
  readonly heldUntil: number | undefined;
}

export type OwnTargets = readonly (readonly [target: string, bytes: Uint8Array])[];

export interface SigningPlan {
  readonly bits: number;
  readonly bins: readonly number[];
  readonly sections: readonly RunSection[];
  /** Lists of earlier numbers of bins, and of sections that are gone, whose files are not there: they may not leave a snapshot. */
  readonly orphans: readonly string[];
  readonly targets: boolean;
  readonly documents: boolean;
  readonly snapshot: boolean;
  /** Reasons to sign besides documents that changed. */
  readonly reasons: readonly SigningReason[];
  readonly roles: Map<string, RoleRow>;
}

/**
 * `first`: nothing is known to be signed. `keys`: others sign now. `lists`: documents are divided into more lists. `settings`: descriptor, settings
 * or sections are others. `expiry`: something ends soon. `missing`: a signed file was not there, or another one
 * under its name.
 */
export type SigningReason = 'first' | 'keys' | 'lists' | 'settings' | 'expiry' | 'missing';

export async function planSigning(signing: Signing): Promise<SigningPlan> {
  const { index, now, sections: all } = signing;
  const { signed } = signing.output;
  const roles = index.roles();
  const known = Math.max(Number(index.fact('bins') ?? 1), bitsOf(roles.keys()));
  const bits = binBitsFor(index.totals().targets, known);
  const isGood = (name: string) => {
    const row = roles.get(name);
    return row !== undefined && row.expires > now + RENEWAL && signed.has(metadataFile(name, row.version));
  };
  const others = index.fact('signers') !== signersOf(signing.roles);
  // The key store has signed a publication that the index does not know: readers may have any of its lists.
  const isStale = signing.keys.contents.publication > (roles.get('snapshot')?.version ?? 0);
  const everything = others || isStale || Number(index.fact('bins')) !== bits || !isGood(DOCUMENTS_ROLE);
  const changed = new Set(
    index
      .changedBins()
      .filter((bin) => bin < 2 ** INDEX_BITS)
      .map((bin) => bin >> (INDEX_BITS - bits)),
  );
  const bins = Array.from({ length: 2 ** bits }, (_, bin) => bin).filter((bin) => {
    return everything || changed.has(bin) || !isGood(binName(bin, bits));
  });
  const sections = all.list.filter((section) => {
    return !section.held && (isStale || !isGood(section.name) || all.mustSign(section, index, signed));
  });
  const orphans = orphansOf(signed, all, roles, bits);
  const facts = await targetFacts(all, signing.ownTargets);
  const targets = everything || !isGood('targets') || index.fact('targets') !== facts;
  const lists = bins.length + sections.length + orphans.length;
  const snapshot = lists > 0 || targets || everything || !isGood('snapshot');
  const reasons = snapshot ? reasonsOf(signing, { roles, bits, facts, orphans }) : [];
  return { bits, bins, sections, orphans, targets, documents: everything, snapshot, reasons, roles };
}

function orphansOf(
  signed: ReadonlySet<string>,
  sections: RunSections,
  roles: ReadonlyMap<string, RoleRow>,
  bits: number,
): string[] {
  const current = new Set(['targets', 'snapshot', DOCUMENTS_ROLE, ...sections.list.map(({ name }) => name)]);
  for (let bin = 0; bin < 2 ** bits; bin++) current.add(binName(bin, bits));
  const missing = [...roles.values()].filter(({ name, version }) => !signed.has(metadataFile(name, version)));
  return missing.map(({ name }) => name).filter((name) => !current.has(name));
}

function reasonsOf(
  { index, now, output: { signed }, roles: signers, sections: all }: Signing,
  { roles, bits, facts, orphans }: Pick<SigningPlan, 'roles' | 'bits' | 'orphans'> & { readonly facts: string },
): SigningReason[] {
  if (index.fact('signers') === undefined) return ['first'];
  const sections = all.list.filter(({ held }) => !held).map(({ name }) => name);
  const bins = Array.from({ length: 2 ** bits }, (_, bin) => binName(bin, bits));
  const names = ['targets', DOCUMENTS_ROLE, 'snapshot', ...sections, ...bins];
  const own = names.flatMap((name) => roles.get(name) ?? []).filter(({ expires }) => expires > 0);
  const reasons: Record<Exclude<SigningReason, 'first'>, boolean> = {
    keys: index.fact('signers') !== signersOf(signers),
    lists: Number(index.fact('bins')) !== bits,
    settings: index.fact('targets') !== facts,
    expiry: own.some(({ expires }) => expires <= now + RENEWAL),
    missing: orphans.length > 0 || own.some(({ name, version }) => !signed.has(metadataFile(name, version))),
  };
  return (Object.keys(reasons) as (keyof typeof reasons)[]).filter((reason) => reasons[reason]);
}

/**
 * Checks that enough of the keys of `targets` are here for the metadata to sign.
 *
 * @throws PublishError `signatures-missing`
 */
export function checkSigners(
  { targets: signers, targetsKeys: { threshold } }: PublicationRoles,
  { bins, documents, targets }: SigningPlan,
): void {
  if (signers.length >= threshold || (bins.length === 0 && !documents && !targets)) return;
  const message = `targets needs ${threshold} signatures, and this run has ${count(signers.length, 'key')} of it`;
  throw new PublishError('signatures-missing', message);
}

/** Yields the contents that keys of `targets` sign, by role, in the order in which they are written. */
export async function* contentsToSign(
  { index, roles, sections, ownTargets }: Signing,
  plan: SigningPlan,
  about: { readonly version: number; readonly expires: number },
): AsyncGenerator<[role: string, content: TufObject]> {
  const keys = roles.targetsKeys;
  for (const bin of plan.bins) {
    const first = bin << (INDEX_BITS - plan.bits);
    const targets = targetsBetween(index, first, first + 2 ** (INDEX_BITS - plan.bits) - 1);
    yield [binName(bin, plan.bits), binMetadata(about, targets)];
  }
  if (plan.documents) yield [DOCUMENTS_ROLE, await documentsMetadata(about, plan.bits, keys)];
  if (!plan.targets) return;
  const delegated = sections.list.map((section) => section.keys);
  yield ['targets', await targetsMetadata(about, await namedTargets(ownTargets), keys, delegated)];
}

export function* targetsBetween(index: PublisherIndex, first: number, last: number): Generator<[string, TufObject]> {
  const isHere = (number: number | undefined) => number !== undefined && number >= first && number <= last;
  for (const row of index.documentsInBins(first, last)) {
    if (isHere(row.headBin)) yield [headTargetOf(row.path), encodeDocumentTarget(entryOf(row))];
    if (isHere(row.contentBin)) {
      yield [contentTargetOf(row.path), { hashes: { sha256: row.content ?? '' }, length: row.contentLength ?? 0 }];
    }
  }
}

function entryOf({ head, headLength, setId, content, form }: PublishedDocument): DocumentEntry {
  return { head, headLength, set: setId, content, inPage: form === 'carrier' };
}

/** Names the keys whose signatures count: as long as these are the same, signed metadata stay good. */
export function signersOf({ targets, snapshot, targetsKeys }: PublicationRoles): string {
  const { publicKeys, threshold } = targetsKeys;
  const most = threshold > 1 ? [String(threshold)] : [];
  return [targets[0]?.keyid ?? '', snapshot.keyid, ...publicKeys.map(toHex), ...most].join(' ');
}

/** Returns the most bits that the number of bins ever had, by their names. */
function bitsOf(names: Iterable<string>): number {
  const numbers = [...names].map((name) => {
    return isBinName(name) ? Number.parseInt(name.slice(DOCUMENTS_ROLE.length + 1), 16) : 0;
  });
  return Math.ceil(Math.log2(numbers.reduce((most, number) => Math.max(most, number), 1) + 1));
}

/** Writes the descriptor and the settings, at their immutable names. */
export async function writeTargets({ out, index, output, ownTargets }: Signing): Promise<void> {
  for (const [target, bytes] of ownTargets) {
    const hash = await hexDigest(bytes);
    const file = targetFile(target, hash);
    if (!output.ownTargets.has(hash)) replaceOutputFile(join(out, file), bytes, { sync: true });
    index.unretire(file);
  }
}

function namedTargets(ownTargets: OwnTargets): Promise<[string, TufObject][]> {
  return Promise.all(
    ownTargets.map(async ([target, bytes]) => [target, await fileTarget(bytes)] as [string, TufObject]),
  );
}

/** Returns the facts of the role `targets`, in one line. */
export async function targetFacts(sections: RunSections, ownTargets: OwnTargets): Promise<string> {
  const hashes = await Promise.all(ownTargets.map(([, bytes]) => hexDigest(bytes)));
  return [...hashes, sections.facts()].filter(Boolean).join(' ');
}
