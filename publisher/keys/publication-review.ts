/**
 * What a signer's machine has to say of a publication that waits for signatures. What was seen as published cannot be older now: that is
 * refused. What was signed may never have been published, if the site changed meanwhile: that only the signer can judge, so it is shown.
 */
import { hexDigest } from '../../core/encoding/digest.ts';
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { ROLE_VALIDITY } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { baseOfBin, bitsOf } from './publication-bases.ts';
import { digestOfPublication, type PublicationDraft } from './publication-draft.ts';
import { inForce, isNameOfBin } from './publication-draft-check.ts';
import {
  checkRoots,
  isIn,
  type ListMemory,
  type Run,
  rolledBack,
  type SignerMemory,
  type Version,
  withNumber,
} from './signer-memory.ts';

/** Seconds by which the publisher's clock may be ahead. */
const CLOCK_DIFFERENCE = 86_400;

/** Numbers of publications that nobody signed here, and were given up or signed by others, between two that are known. */
const MOST_SKIPPED = 10_000;

/** The highest number of which a signer hears first: then nothing is known to compare it with. */
const MOST_FIRST = 1_000_000_000;

/** A list that was signed or seen here in a later publication than that with which it is compared. */
export interface OvertakenList {
  readonly list: string;
  /** The publication in which it was signed or seen. */
  readonly known: number;
  /** That with which it is compared; `undefined` if it is compared with nothing. */
  readonly comparedWith: number | undefined;
}

export interface PublicationReview {
  /** The last publication that the key signed; `undefined` if it has signed none that is remembered. */
  readonly signed: number | undefined;
  /** If readers have these, what they say is taken back, and not shown among the changes. */
  readonly overtaken: readonly OvertakenList[];
  /** What is to be remembered once it is signed. */
  readonly after: SignerMemory;
}

/**
 * @param now - seconds since 1970
 * @throws PublishError `draft-out-of-bounds`, `signer-bound`, `draft-rolled-back`
 */
export async function reviewPublication(
  draft: PublicationDraft,
  memory: SignerMemory | undefined,
  now: number,
): Promise<PublicationReview> {
  checkNumbers(memory, draft, now);
  const root = await checkRoots(memory, draft.rootId, draft.chain);
  const signed = { version: draft.version, digest: await digestOfPublication(draft) };
  checkVersion(memory, signed);
  checkBins(memory, draft);
  const bases = await basesIn(draft);
  const overtaken = memory ? overtakenLists(memory, draft, bases) : [];
  const bits = Math.max(memory?.bits ?? 0, bitsOf(draft.earlier.get(DOCUMENTS_ROLE)) ?? 0);
  const publications = withNumber(memory?.publications ?? [], signed.version);
  const lists = await listsAfter(memory, draft, bases);
  const after = { ...memory, publisher: draft.rootId, root, bits, signed, publications, lists };
  return { signed: memory?.signed?.version, overtaken, after };
}

/** What ends far from now, or leaves hardly a number for later ones, is nothing that the publisher's program asks for. */
function checkNumbers(memory: SignerMemory | undefined, { version, expires, earlier }: PublicationDraft, now: number) {
  if (expires <= now || expires > now + ROLE_VALIDITY.targets + CLOCK_DIFFERENCE)
    throw outOfBounds(`it would be good until ${isoTime(expires)}, and publications are good for 400 days`);
  const known = Math.max(0, memory?.signed?.version ?? 0, ...Array.from(earlier.values(), (list) => list.version));
  if (known > 0 ? version > known + MOST_SKIPPED : version > MOST_FIRST)
    throw outOfBounds(`it is publication ${version}, and ${known || 'none'} is the last that is known`);
}

function outOfBounds(why: string): PublishError {
  return new PublishError('draft-out-of-bounds', `this is no publication to sign: ${why}`, {
    hint: 'compare the clocks of both machines; else do not sign it, and ask the publisher by another way than the file came by',
  });
}

/** A version is of one publication only, and they only grow. */
function checkVersion(
  memory: SignerMemory | undefined,
  { version, digest }: { version: number; digest: string },
): void {
  const last = memory?.signed;
  if (last === undefined || version > last.version || digest === last.digest) return;
  throw rolledBack(`publication ${last.version} was signed here before, and this is another one, ${version}`);
}

function checkBins(memory: SignerMemory | undefined, draft: PublicationDraft): void {
  const bits = bitsOf(inForce(draft, DOCUMENTS_ROLE)) ?? 0;
  if (memory && bits < memory.bits)
    throw rolledBack(`it divides the documents into ${2 ** bits} lists, and ${2 ** memory.bits} were seen before`);
}

function overtakenLists(memory: SignerMemory, draft: PublicationDraft, bases: Bases): OvertakenList[] {
  const all = [...memory.lists.values()];
  const published = new Set(all.flatMap(({ seen }) => seen?.version ?? []));
  for (const { version } of bases.values()) published.add(version);
  return comparedLists(draft).flatMap((list) => {
    const [known, base] = [memory.lists.get(list) ?? {}, bases.get(list)];
    if (base) checkBase(list, base, known, memory.publications);
    const signed = known.signed?.version === draft.version ? 0 : (known.signed?.version ?? 0);
    if (base && base.version < signed && published.has(signed))
      throw rolledBack(`${list} is compared with publication ${base.version}, and was published in ${signed}`);
    const newest = Math.max(known.seen?.version ?? 0, signed);
    return newest > (base?.version ?? 0) ? [{ list, known: newest, comparedWith: base?.version }] : [];
  });
}

/** Lists do not name themselves: so what was seen of one is compared with what is said to be it. */
function checkBase(list: string, base: Version, { seen, signed }: ListMemory, signedHere: readonly Run[]): void {
  if (seen && base.version < seen.version)
    throw rolledBack(`${list} is compared with publication ${base.version}, and was seen in ${seen.version}`);
  const isOther = [seen, signed].some((known) => known?.version === base.version && known.digest !== base.digest);
  // Of a publication that was signed here, every list was: and it would be remembered as the last of that name, or a later one.
  const isForeign = isIn(signedHere, base.version) && (signed?.version ?? 0) < base.version;
  if (isOther || isForeign)
    throw rolledBack(`what is said to be ${list} of publication ${base.version} was another list`);
}

/** The lists that matter, under the names that they had. */
function comparedLists(draft: PublicationDraft): string[] {
  const [bits, before] = [bitsOf(inForce(draft, DOCUMENTS_ROLE)) ?? 0, bitsOf(draft.earlier.get(DOCUMENTS_ROLE))];
  const names = draft.roles.map(({ name }) => {
    return isNameOfBin(name) && before !== undefined ? baseOfBin(name, bits, before) : name;
  });
  return [...new Set(['targets', DOCUMENTS_ROLE, ...names])];
}

async function listsAfter(
  memory: SignerMemory | undefined,
  draft: PublicationDraft,
  bases: Bases,
): Promise<Map<string, ListMemory>> {
  const lists = new Map(memory?.lists);
  for (const [name, seen] of bases) lists.set(name, { ...lists.get(name), seen });
  for (const { name, message } of draft.roles) {
    const signed = { version: draft.version, digest: await hexDigest(message) };
    lists.set(name, { ...lists.get(name), signed });
  }
  return lists;
}

/** What is compared with, by its name. */
type Bases = ReadonlyMap<string, Version>;

async function basesIn({ before, earlier }: PublicationDraft): Promise<Bases> {
  const bases = new Map<string, Version>();
  for (const [name, { version }] of earlier) {
    const { message } = openEnvelope(before.get(name) ?? new Uint8Array(0), name, PUBLICATION_LIMITS.targetsLength);
    bases.set(name, { version, digest: await hexDigest(message) });
  }
  return bases;
}
