/**
 * Signs what changed since the last publication, and makes it visible: docs/spec/publication.md, sections 2 to 4 and 8. Whatever did not
 * change keeps its file. The timestamp comes last, and is the one file that is replaced.
 */
import { join } from 'node:path';
import { sha256 } from '#primitives';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { binBitsFor, binName, DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { type TufObject, tufCanonical } from '../../core/publication/canonical.ts';
import { type DocumentEntry, encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import {
  contentTargetOf,
  headTargetOf,
  METADATA_PATH,
  metadataFile,
  TIMESTAMP_FILE,
} from '../../core/publication/names.ts';
import {
  binMetadata,
  documentsMetadata,
  ROLE_VALIDITY,
  signMetadata,
  snapshotMetadata,
  targetsMetadata,
  timestampMetadata,
  timestampVersion,
} from '../../core/publication/writer.ts';
import type { PublishedDocument, PublisherIndex } from '../index/publisher-index.ts';
import type { RoleRow } from '../index/rows.ts';
import { bitsOf, newestOf, readTimestamp, recoverRoles } from './earlier-publication.ts';
import { ownTargets, putTargets, targetFacts } from './own-targets.ts';
import { replaceOutputFile } from './replace-output-file.ts';
import { checkEnough, type PublicationRoles } from './roles.ts';
import { checkSectionFits, type RunSection, type RunSections } from './sections.ts';
import { replaceFile as replaceNow } from './writers/files.ts';

/** What a publication is made of. */
export interface PublicationContext {
  /** The output directory. */
  readonly out: string;
  readonly index: PublisherIndex;
  readonly roles: PublicationRoles;
  readonly sections: RunSections;
  /** The id of the publisher key, under which objects are signed. */
  readonly publisher: string;
  /** Names of the metadata files that are there. */
  readonly metadata: ReadonlySet<string>;
  /** Hashes of the descriptor and the settings that are there. */
  readonly ownTargets: ReadonlySet<string>;
  /** Bytes of the descriptor, and of the site settings. */
  readonly descriptor: Uint8Array;
  readonly settings: Uint8Array;
  /** Seconds since 1970. */
  readonly now: number;
  /** Seconds for which the timestamp is good. */
  readonly freshFor: number;
  /** The version of the last publication whose metadata may have been written. */
  readonly lastVersion: number;
  /** Puts the version of the next publication onto the disk, before anything with it is signed. */
  readonly raiseVersion: (version: number) => Promise<void>;
}

/** Signatures for `targets`, its documents and bins, of signers who are elsewhere: enough of them. */
export interface Gathered {
  readonly version: number;
  readonly expires: number;
  /** Signed metadata files by role, verified. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export interface PublicationSummary {
  /** Of the publication that is visible now. */
  readonly version: number;
  /** Whether it differs from the one before. */
  readonly isNew: boolean;
  /** Whether it is withdrawn: nothing changed since, and readers refuse it. */
  readonly isWithdrawn: boolean;
  /** How many metadata files were signed, the timestamp among them. */
  readonly signed: number;
  /** When each role expires; of the bins, the first. */
  readonly expires: readonly RoleExpiry[];
}

/** Roles that expire sooner are signed again. */
export const RENEWAL = 90 * 86_400;

/** Bits of the numbers by which the index finds the documents of a bin. */
const INDEX_BITS = 16;

/** What is signed in this run, and what is kept. */
export interface Draft {
  readonly bits: number;
  /** Numbers of the bins that are signed. */
  readonly bins: readonly number[];
  readonly sections: readonly RunSection[];
  readonly targets: boolean;
  readonly documents: boolean;
  readonly snapshot: boolean;
  readonly roles: Map<string, RoleRow>;
}

/**
 * Makes the state that the index describes the current publication.
 *
 * @param gathered - of signers who are elsewhere, if the keys that are here are not enough
 * @throws PublishError `output-failed`
 */
export async function publish(context: PublicationContext, gathered?: Gathered): Promise<PublicationSummary> {
  await putTargets(context);
  const draft = await makeDraft(context);
  const { version, signed } = draft.snapshot
    ? await signPublication(context, draft, gathered)
    : { version: Number(context.index.fact('version')), signed: 0 };
  await putRoots(context); // a new one may end the trust in what the old timestamp names: nothing comes between the two
  const { expires, withdrawn } = await signTimestamp(context, draft.roles.get('snapshot'));
  retireMetadata(context, draft.roles);
  return {
    version,
    isNew: draft.snapshot,
    isWithdrawn: withdrawn.includes(version),
    signed: signed + 1,
    expires: expiries(context, draft.roles, expires),
  };
}

/** Decides what has to be signed. */
export async function makeDraft(context: PublicationContext): Promise<Draft> {
  const { index, metadata, now } = context;
  const roles = index.roles();
  if (roles.size === 0) for (const row of await recoverRoles(context.out)) roles.set(row.name, row);
  const known = Math.max(Number(index.fact('bins') ?? 1), bitsOf(roles.keys()));
  const bits = binBitsFor(index.totals().targets, known);
  const isGood = (name: string) => {
    const row = roles.get(name);
    return row !== undefined && row.expires > now + RENEWAL && metadata.has(metadataFile(name, row.version));
  };
  const others = index.fact('signers') !== signersOf(context);
  // With the list of the bins, all bins: whoever signs it sees all that it leads to.
  const everything = others || Number(index.fact('bins')) !== bits || !isGood(DOCUMENTS_ROLE);
  const changed = new Set(
    index
      .changedBins()
      .filter((bin) => bin < 2 ** INDEX_BITS)
      .map((bin) => bin >> (INDEX_BITS - bits)),
  );
  const bins = Array.from({ length: 2 ** bits }, (_, bin) => bin).filter((bin) => {
    return everything || changed.has(bin) || !isGood(binName(bin, bits));
  });
  const sections = context.sections.list.filter((section) => {
    return !section.held && (!isGood(section.name) || context.sections.mustSign(section, index, metadata));
  });
  const facts = await targetFacts(context);
  const targets = everything || !isGood('targets') || index.fact('targets') !== facts;
  const snapshot = bins.length + sections.length > 0 || targets || everything || !isGood('snapshot');
  return { bits, bins, sections, targets, documents: everything, snapshot, roles };
}

/** Whether keys of `targets` have to sign. */
export function needsTargets({ bins, documents, targets }: Draft): boolean {
  return bins.length > 0 || documents || targets;
}

/** The version of a publication that is begun now. */
export function nextVersion({ lastVersion, index, metadata }: PublicationContext): number {
  return Math.max(lastVersion, Number(index.fact('version') ?? 0), newestOf(metadata)) + 1;
}

/** What keys of `targets` sign, by role, in the order in which it is written. */
export async function* contentsToSign(
  context: PublicationContext,
  draft: Draft,
  about: { readonly version: number; readonly expires: number },
): AsyncGenerator<[role: string, content: TufObject]> {
  const { index, roles, sections } = context;
  const keys = roles.targetsKeys;
  for (const bin of draft.bins) {
    yield [binName(bin, draft.bits), binMetadata(about, targetsOf(index, bin, draft.bits))];
  }
  if (draft.documents) yield [DOCUMENTS_ROLE, await documentsMetadata(about, draft.bits, keys)];
  if (!draft.targets) return;
  const delegated = sections.list.map((section) => section.keys);
  yield ['targets', await targetsMetadata(about, await ownTargets(context), keys, delegated)];
}

/** Signs everything but the timestamp. Nobody is sent to any of it yet. */
async function signPublication(
  context: PublicationContext,
  draft: Draft,
  gathered: Gathered | undefined,
): Promise<{ version: number; signed: number }> {
  const { index, roles, now } = context;
  if (needsTargets(draft) && !gathered) checkEnough(roles);
  const version = gathered?.version ?? nextVersion(context);
  if (!gathered) await context.raiseVersion(version); // else it was, before anybody was asked
  const about = { version, expires: gathered?.expires ?? now + ROLE_VALIDITY.targets };
  let signed = 0;
  const put = async (name: string, bytes: Uint8Array, expires = about.expires) => {
    replaceNow(metadataPlace(context, metadataFile(name, version)), bytes);
    draft.roles.set(name, { name, version, length: bytes.length, sha256: await hexDigest(bytes), expires });
    signed++;
  };
  for await (const [name, content] of contentsToSign(context, draft, about))
    await put(name, gathered ? signedElsewhere(gathered, name, content) : signMetadata(content, roles.targets));
  for (const section of draft.sections) {
    const content = binMetadata(about, targetsBetween(index, section.number, section.number));
    checkSectionFits(section, content);
    await put(section.name, signMetadata(content, section.signers));
  }
  const files = [...draft.roles.values()]
    .filter(({ name }) => name !== 'snapshot')
    .map((row) => [row.name, row] as const);
  const expires = now + ROLE_VALIDITY.snapshot;
  await put('snapshot', signMetadata(snapshotMetadata({ version, expires }, files), [roles.snapshot]), expires);
  index.storePublication(draft.roles.values(), {
    bins: String(draft.bits),
    version: String(version),
    signers: signersOf(context),
    targets: await targetFacts(context),
    sections: context.sections.factAfter(new Set(draft.sections.map(({ name }) => name)), context.publisher),
  });
  return { version, signed };
}

/** What was gathered, if it is what is published: nothing that was signed for something else goes out. */
function signedElsewhere({ files }: Gathered, name: string, content: TufObject): Uint8Array {
  const bytes = files.get(name);
  if (bytes && equalBytes(openEnvelope(bytes, name).message, tufCanonical(content))) return bytes;
  throw new Error(`what others signed of ${name} is not what is published`);
}

/** The targets of one bin. */
function targetsOf(index: PublisherIndex, bin: number, bits: number): Generator<[string, TufObject]> {
  const first = bin << (INDEX_BITS - bits);
  return targetsBetween(index, first, first + 2 ** (INDEX_BITS - bits) - 1);
}

function* targetsBetween(index: PublisherIndex, first: number, last: number): Generator<[string, TufObject]> {
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

/** Whose signatures count: as long as that is the same, what was signed stays good, whoever of them is here. */
function signersOf({ roles: { targets, snapshot, targetsKeys } }: PublicationContext): string {
  const { publicKeys, threshold } = targetsKeys;
  const most = threshold > 1 ? [String(threshold)] : [];
  return [targets[0]?.keyid ?? '', snapshot.keyid, ...publicKeys.map(toHex), ...most].join(' ');
}

async function putRoots(context: PublicationContext): Promise<void> {
  for (const [number, bytes] of context.roles.roots.entries()) {
    const name = metadataFile('root', number + 1);
    if (!context.metadata.has(name)) await replaceOutputFile(metadataPlace(context, name), bytes);
  }
}

async function signTimestamp(
  context: PublicationContext,
  snapshot: RoleRow | undefined,
): Promise<{ expires: number; withdrawn: readonly number[] }> {
  if (snapshot === undefined) throw new Error('every publication has a snapshot');
  const place = metadataPlace(context, TIMESTAMP_FILE);
  const before = await readTimestamp(context.out);
  const expires = context.now + context.freshFor;
  const about = { version: timestampVersion(context.now, before?.version), expires };
  const withdrawn = before?.withdrawn ?? [];
  const content = timestampMetadata(about, snapshot, withdrawn);
  await replaceOutputFile(place, signMetadata(content, [context.roles.timestamp]), { sync: true });
  return { expires, withdrawn };
}

/** Metadata files that the last snapshot does not name any more. */
function retireMetadata({ index, metadata, roles }: PublicationContext, rows: ReadonlyMap<string, RoleRow>): void {
  const current = new Set([...rows.values()].map(({ name, version }) => metadataFile(name, version)));
  for (const number of roles.roots.keys()) current.add(metadataFile('root', number + 1));
  index.transaction(() => {
    for (const name of metadata) {
      if (name !== TIMESTAMP_FILE && !current.has(name)) index.retire(METADATA_PATH + name, false);
    }
  });
}

function expiries(
  { roles, sections }: PublicationContext,
  rows: ReadonlyMap<string, RoleRow>,
  timestamp: number,
): RoleExpiry[] {
  const bins = [...rows.values()].filter(({ name, expires }) => name.startsWith(`${DOCUMENTS_ROLE}-`) && expires > 0);
  const expiryOf = (role: string) => ({ role, expires: rows.get(role)?.expires ?? 0 });
  const first = bins.reduce((least, { expires }) => Math.min(least, expires), Number.POSITIVE_INFINITY);
  return [
    { role: 'root', expires: roles.rootExpires },
    expiryOf('targets'),
    expiryOf('documents'),
    ...sections.list.map(({ name }) => expiryOf(name)),
    { role: 'bins', expires: first },
    expiryOf('snapshot'),
    { role: 'timestamp', expires: timestamp },
  ];
}

function metadataPlace({ out }: PublicationContext, name: string): string {
  return join(out, METADATA_PATH, name);
}

async function hexDigest(bytes: Uint8Array): Promise<string> {
  return toHex(await sha256(bytes));
}
