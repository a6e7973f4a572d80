/**
 * What a signer's machine has to say of a publication that waits for signatures. What was seen as published cannot be older now: that is
 * refused. What was signed may never have been published, if the site changed meanwhile: that only the signer can judge, so it is shown.
 */
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { baseOfBin, bitsOf } from './publication-bases.ts';
import { digestOfPublication, type PublicationDraft } from './publication-draft.ts';
import { inForce, isNameOfBin } from './publication-draft-check.ts';
import { checkRoots, type ListMemory, rolledBack, type SignerMemory } from './signer-memory.ts';

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

/** @throws PublishError `signer-bound`, `draft-rolled-back` */
export async function reviewPublication(
  draft: PublicationDraft,
  memory: SignerMemory | undefined,
): Promise<PublicationReview> {
  const root = await checkRoots(memory, draft.rootId, draft.chain);
  const signed = { version: draft.version, digest: await digestOfPublication(draft) };
  checkVersion(memory, signed);
  checkBins(memory, draft);
  const overtaken = memory ? overtakenLists(memory, draft) : [];
  const bits = Math.max(memory?.bits ?? 0, bitsOf(draft.earlier.get(DOCUMENTS_ROLE)) ?? 0);
  const after = { publisher: draft.rootId, root, bits, signed, lists: listsAfter(memory, draft) };
  return { signed: memory?.signed?.version, overtaken, after };
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

function overtakenLists(memory: SignerMemory, draft: PublicationDraft): OvertakenList[] {
  const published = new Set([...memory.lists.values()].map(({ seen }) => seen));
  for (const { version } of draft.earlier.values()) published.add(version);
  return comparedLists(draft).flatMap((list) => {
    const { seen, signed } = memory.lists.get(list) ?? { seen: 0, signed: 0 };
    const comparedWith = draft.earlier.get(list)?.version;
    const isOlder = comparedWith !== undefined && comparedWith < Math.max(seen, published.has(signed) ? signed : 0);
    if (isOlder && signed !== draft.version)
      throw rolledBack(`${list} is compared with publication ${comparedWith}, and was published in a later one`);
    const known = Math.max(seen, signed < draft.version ? signed : 0);
    return known > (comparedWith ?? 0) ? [{ list, known, comparedWith }] : [];
  });
}

/** The lists that matter, under the names that they had. */
function comparedLists(draft: PublicationDraft): string[] {
  const [bits, before] = [bitsOf(inForce(draft, DOCUMENTS_ROLE)) ?? 0, bitsOf(draft.earlier.get(DOCUMENTS_ROLE))];
  const names = draft.roles.map(({ name }) => {
    return isNameOfBin(name) && before !== undefined ? baseOfBin(name, bits, before) : name;
  });
  return [...new Set(['targets', DOCUMENTS_ROLE, ...names])];
}

function listsAfter(memory: SignerMemory | undefined, draft: PublicationDraft): Map<string, ListMemory> {
  const lists = new Map(memory?.lists);
  const raise = (name: string, { seen, signed }: ListMemory) => {
    const known = lists.get(name) ?? { seen: 0, signed: 0 };
    lists.set(name, { seen: Math.max(known.seen, seen), signed: Math.max(known.signed, signed) });
  };
  for (const [name, { version }] of draft.earlier) raise(name, { seen: version, signed: 0 });
  for (const { name } of draft.roles) raise(name, { seen: 0, signed: draft.version });
  return lists;
}
