/** What a publication changes, worked out from what is signed and was signed, never from what somebody says of it: what a signer is shown. */
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import { documentEntryOf } from '../../core/publication/document-entry.ts';
import type { TargetsMetadata } from '../../core/publication/metadata.ts';
import { documentPathOfHead } from '../../core/publication/names.ts';
import { descriptorChanges, type FileChanges, settingsChanges } from './own-file-changes.ts';
import { baseOfBin, bitsOf } from './publication-bases.ts';
import type { PublicationDraft } from './publication-draft.ts';
import { inForce, isNameOfBin } from './publication-draft-check.ts';
import { type SectionsShown, sectionsOf } from './section-changes.ts';

/** Who can read a document: those who have a set key, by its key id, or everybody. `null`: only its plain content is named. */
export type Readers = string | 'public' | null;

export interface ShownDocument {
  readonly path: string;
  readonly set: Readers;
}

export interface MovedDocument extends ShownDocument {
  readonly before: Readers;
}

/** What is signed, document by document. Paths are in their order, each of them in one of the first four lists. */
export interface PublicationChanges {
  readonly added: readonly ShownDocument[];
  /** To another set, to a new key of their set, to everybody, or from them; changed besides or not. */
  readonly moved: readonly MovedDocument[];
  readonly changed: readonly ShownDocument[];
  readonly removed: readonly ShownDocument[];
  /** Those of the added and moved that everybody can read, and could not before. */
  readonly public: readonly string[];
  /** How many lists are signed. */
  readonly lists: number;
  /** The lists that it is compared with, and of which publication each is. */
  readonly comparedWith: readonly { readonly list: string; readonly publication: number }[];
  /** Signed lists with nothing to compare: all in them counts as added, and what was removed from them cannot be known. */
  readonly uncompared: readonly string[];
  /** How many lists of documents there are, and were, where that is known. */
  readonly bins: { readonly after: number; readonly before: number | undefined };
  readonly sections: SectionsShown;
  /** Where they change. */
  readonly descriptor: FileChanges | undefined;
  readonly settings: FileChanges | undefined;
}

interface Known {
  head?: string;
  set?: Readers;
  content?: string;
}

export async function publicationChanges(draft: PublicationDraft): Promise<PublicationChanges> {
  const { earlier, roles } = draft;
  const bins = roles.filter(({ name }) => isNameOfBin(name));
  const old = [...earlier].flatMap(([name, list]) => (isNameOfBin(name) ? [list] : []));
  const [bits, before] = [bitsOf(inForce(draft, DOCUMENTS_ROLE)) ?? 0, bitsOf(earlier.get(DOCUMENTS_ROLE))];
  return {
    ...documentChanges(
      old,
      bins.map(({ after }) => after),
    ),
    lists: roles.length,
    comparedWith: Array.from(earlier, ([list, { version }]) => ({ list, publication: version })).sort(byAge),
    uncompared: roles.map(({ name }) => name).filter((name) => !earlier.has(baseOf(name, bits, before))),
    bins: { after: 2 ** bits, before: before && 2 ** before },
    sections: await sectionsOf(earlier.get('targets'), inForce(draft, 'targets')),
    descriptor: await descriptorChanges(draft),
    settings: settingsChanges(draft),
  };
}

/** The list that one is compared with, whether it is there or not. */
function baseOf(name: string, bits: number, before: number | undefined): string {
  return isNameOfBin(name) ? (before === undefined ? '' : baseOfBin(name, bits, before)) : name;
}

/** The oldest first: that is where something may have been left out. */
function byAge(a: { publication: number }, b: { publication: number }): number {
  return a.publication - b.publication;
}

/** What becomes of the documents: together with the lists of before, all that those of now say. */
export function documentChanges(
  listsBefore: readonly TargetsMetadata[],
  listsNow: readonly TargetsMetadata[],
): Pick<PublicationChanges, 'added' | 'moved' | 'changed' | 'removed' | 'public'> {
  const [old, now] = [documentsIn(listsBefore), documentsIn(listsNow)];
  const added: ShownDocument[] = [];
  const moved: MovedDocument[] = [];
  const changed: ShownDocument[] = [];
  const removed: ShownDocument[] = [];
  for (const path of [...new Set([...old.keys(), ...now.keys()])].sort()) {
    const [before, after] = [old.get(path), now.get(path)];
    const document = { path, set: after?.set ?? null };
    if (after === undefined) removed.push({ path, set: before?.set ?? null });
    else if (before === undefined || (before.head === undefined && after.head !== undefined)) added.push(document);
    else if (before.set !== after.set) moved.push({ ...document, before: before.set ?? null });
    else if (before.head !== after.head || before.content !== after.content) changed.push(document);
  }
  const opened = [...added, ...moved.filter(({ before }) => !isOpen(before))].filter(({ set }) => isOpen(set));
  return { added, moved, changed, removed, public: opened.map(({ path }) => path).sort() };
}

/** Contents alone stand open too, for whoever asks for nothing but them. */
function isOpen(readers: Readers): boolean {
  return readers === 'public' || readers === null;
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
        Object.assign(known(path), { head: JSON.stringify(entry), set: entry.set ?? 'public' });
      }
    }
  }
  return found;
}
