/** The summary of what a run of `wispr protect` did, or would do. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { LostIndex, PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Change } from '../workspace/index/schema.ts';
import type { SiteLocation } from './location.ts';
import type { Plan } from './phases.ts';
import type { PublicationSummary } from './publication.ts';

export interface PlanSummary
  extends Pick<Plan, 'documents' | 'sections' | 'public' | 'ignored' | 'hidden' | 'unusedPatterns'> {
  readonly site: string;
  readonly out: string;
  readonly changes: ChangeCounts;
  readonly reasons: ChangeReasons;
}

export interface ProtectSummary extends PlanSummary {
  readonly publisher: KeyId;
  readonly publisherKey: KeyId;
  readonly sets: readonly SetSummary[];
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
  /** Number of invitations with a key file; `undefined` where there is a key server. */
  readonly keyFiles: number | undefined;
  /** The key bundle for the key server; `undefined` if the key server's public key is not there. */
  readonly bundle: string | undefined;
  readonly bundleIsNew: boolean;
  readonly recipient: string;
  /** Things that were missing or older than what is published, and what was done about them. */
  readonly recovered: readonly string[];
}

export interface ChangeCounts {
  readonly added: number;
  /** Documents with another content, or published in another way. */
  readonly changed: number;
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
  readonly restored: number;
}

export interface SetSummary {
  readonly name: string;
  readonly id: KeyId;
  readonly documents: number;
  readonly isNew: boolean;
  /** Tells whether documents moved from another key to this one, which is new to readers; an earlier run that was stopped may have made it. */
  readonly isRekeyed: boolean;
}

export interface DryRunSummary extends PlanSummary {
  /** Tells whether the site settings differ from those that are published: that makes a new publication too. */
  readonly settingsChanged: boolean;
  /** Reason why the index knows nothing of an output that is there: everything would be written anew. */
  readonly indexLost: LostIndex | undefined;
  /** Tells whether the key store differs from what the last publication left: what a run would do besides depends on it. */
  readonly keysChanged: boolean;
  readonly paths: Readonly<Record<Exclude<keyof ChangeCounts, 'unchanged'>, readonly string[]>>;
  readonly sets: readonly Pick<SetSummary, 'name' | 'documents'>[];
}

/** @param untouched - documents that were in the plan, and turned out to be what they were */
export function summarisePlan(
  { configuration: { site }, out }: SiteLocation,
  { changes, documents, removed, sections, public: open, ignored, hidden, unusedPatterns }: Plan,
  { remade, restored }: ChangeReasons = changes,
  untouched = 0,
): PlanSummary {
  const changed = changes.changed + changes.remade + changes.restored - untouched;
  const { added, moved, rekeyed } = changes;
  const unchanged = documents - (added + changed + moved + rekeyed);
  return {
    ...{ site, out, documents, sections, public: open, ignored, hidden, unusedPatterns },
    changes: { added, changed, moved, rekeyed, removed, unchanged },
    reasons: { remade, restored },
  };
}

/** Lists the paths behind the counts. @param limit - how many of each */
export function changedPaths(index: PublisherIndex, limit: number): DryRunSummary['paths'] {
  const of = (...changes: Change[]) => changes.flatMap((change) => index.pathsOf(change, limit)).sort();
  return {
    added: of('added'),
    changed: of('changed', 'remade', 'restored'),
    moved: of('moved'),
    rekeyed: of('rekeyed'),
    removed: [...index.gone(limit)],
  };
}
