/** What a run of `wispr protect` did, or would do. */
import type { KeyId } from '../../core/keys/key-id.ts';
import type { LostIndex, PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Change } from '../workspace/index/schema.ts';
import type { Plan } from './plan.ts';
import type { PublicationSummary } from './publication.ts';

export interface ProtectSummary {
  readonly site: string;
  /** The publisher's identity: what host proofs name. */
  readonly publisher: KeyId;
  /** Key id of the key that signs objects. */
  readonly publisherKey: KeyId;
  /** The output directory, absolute. */
  readonly out: string;
  readonly documents: number;
  /** What became of the documents in this run. */
  readonly changes: ChangeCounts;
  readonly reasons: ChangeReasons;
  /** Sets that have documents in this run, by name. */
  readonly sets: readonly SetSummary[];
  readonly sections: readonly SectionSummary[];
  /** Why documents are public, and which. */
  readonly public: readonly PublicSummary[];
  /** Hidden and ignored files. */
  readonly ignored: number;
  readonly bytesIn: number;
  /** Bytes of their objects in the output: heads and contents of public documents, of pages that carry objects all. */
  readonly bytesOut: number;
  /** Bytes of the fallback pages beside them. */
  readonly pageBytes: number;
  readonly milliseconds: number;
  readonly publication: PublicationSummary;
  /** Files that no publication needs any more, and that were removed; and those that wait for it. */
  readonly pruned: number;
  readonly waiting: number;
  /** The key bundle for the key server; `undefined` if the key server's public key is not there. */
  readonly bundle: string | undefined;
  /** Whether that bundle was made in this run. */
  readonly bundleIsNew: boolean;
  /** Where that public key was looked for. */
  readonly recipient: string;
  /** Patterns in the configuration that fit no document. */
  readonly unusedPatterns: readonly string[];
  /** What was found to be missing or older than what is published, and what was done about it. */
  readonly recovered: readonly string[];
}

/** Numbers of documents. */
export interface ChangeCounts {
  readonly added: number;
  /** Another content, or published in another way. */
  readonly changed: number;
  /** Now in another set. */
  readonly moved: number;
  /** Encrypted anew under a new key. */
  readonly rekeyed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** Numbers of the changed documents whose sources are what they were. */
export interface ChangeReasons {
  /** Published in another way: other headers, padding, carrier or publisher key. */
  readonly remade: number;
  /** Their files were missing. */
  readonly restored: number;
}

export interface SetSummary {
  readonly name: string;
  readonly id: KeyId;
  readonly documents: number;
  /** Whether its key was made in this run. */
  readonly isNew: boolean;
  /**
   * Whether documents that were under another key are under this one now, which is new to readers; an earlier run may have made it, and was
   * stopped.
   */
  readonly isRekeyed: boolean;
}

export interface SectionSummary {
  readonly name: string;
  /** Documents that the publication has of it. */
  readonly documents: number;
  /** Documents in which something changed that waits for the section's keys. */
  readonly waiting: number;
}

export interface PublicSummary {
  readonly reason: string;
  readonly documents: number;
  /** Paths of the first documents. */
  readonly paths: readonly string[];
}

/** What `wispr protect --dry-run` found. */
export interface DryRunSummary {
  readonly site: string;
  readonly out: string;
  readonly documents: number;
  readonly changes: ChangeCounts;
  readonly reasons: ChangeReasons;
  /** Whether the site settings are others than those that are published: that makes a new publication too. */
  readonly settingsChanged: boolean;
  /** Why the index knows nothing of the output, where there is one: everything would be written anew. */
  readonly indexLost: LostIndex | undefined;
  /** Whether the key store is another than the last publication left: what a run would do besides depends on it. */
  readonly keysChanged: boolean;
  /** Paths, in their order. */
  readonly paths: Readonly<Record<Exclude<keyof ChangeCounts, 'unchanged'>, readonly string[]>>;
  readonly sets: readonly { readonly name: string; readonly documents: number }[];
  readonly sections: readonly SectionSummary[];
  readonly public: readonly PublicSummary[];
  readonly ignored: number;
  readonly unusedPatterns: readonly string[];
}

/** Which kinds of work count as what. */
const KINDS: Readonly<Record<'added' | 'changed' | 'moved' | 'rekeyed', readonly Change[]>> = {
  added: ['added'],
  changed: ['changed', 'remade', 'restored'],
  moved: ['moved'],
  rekeyed: ['rekeyed'],
};

/** @param untouched - documents that were in the plan, and turned out to be what they were */
export function countChanges({ changes, documents, removed }: Plan, untouched = 0): ChangeCounts {
  const sum = (kind: keyof typeof KINDS) => KINDS[kind].reduce((total, change) => total + changes[change], 0);
  const counts = {
    added: sum('added'),
    changed: sum('changed') - untouched,
    moved: sum('moved'),
    rekeyed: sum('rekeyed'),
  };
  const written = counts.added + counts.changed + counts.moved + counts.rekeyed;
  return { ...counts, removed, unchanged: documents - written };
}

export function sectionsOf({ sections }: Plan): SectionSummary[] {
  return Array.from(sections, ([name, counts]) => ({ name, ...counts }));
}

export function publicByReason(plan: Plan): PublicSummary[] {
  return Array.from(plan.public, ([reason, { documents, paths }]) => ({ reason, documents, paths })).sort((a, b) =>
    (a.paths[0] ?? '') < (b.paths[0] ?? '') ? -1 : 1,
  );
}

/** The paths behind the counts. @param limit - how many of each */
export function changedPaths(index: PublisherIndex, limit: number): DryRunSummary['paths'] {
  const of = (kind: keyof typeof KINDS) => KINDS[kind].flatMap((change) => [...index.pathsOf(change, limit)]).sort();
  return {
    added: of('added'),
    changed: of('changed'),
    moved: of('moved'),
    rekeyed: of('rekeyed'),
    removed: [...index.gone(limit)],
  };
}
