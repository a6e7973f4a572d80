/** What a run of `wispr protect` did. */
import type { KeyId } from '../../core/keys/key-id.ts';
import type { Plan } from './plan.ts';

export interface ProtectSummary {
  readonly site: string;
  /** Key id of the publisher's key. */
  readonly publisher: KeyId;
  /** The output directory, absolute. */
  readonly out: string;
  readonly documents: number;
  /** Sets that have documents in this run, by name. */
  readonly sets: readonly SetSummary[];
  /** Why documents are public, and which. */
  readonly public: readonly PublicSummary[];
  /** Hidden and ignored files. */
  readonly ignored: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly milliseconds: number;
  /** The key bundle that was written; `undefined` if the key server's public key is not there. */
  readonly bundle: string | undefined;
  /** Where that public key was looked for. */
  readonly recipient: string;
  /** Patterns in the configuration that fit no document. */
  readonly unusedPatterns: readonly string[];
  /** What an interrupted run had left, and what became of it. */
  readonly recovered: readonly string[];
}

export interface SetSummary {
  readonly name: string;
  readonly id: KeyId;
  readonly documents: number;
  /** Whether its key was made in this run. */
  readonly isNew: boolean;
}

export interface PublicSummary {
  readonly reason: string;
  readonly documents: number;
  /** Paths of the documents. */
  readonly paths: readonly string[];
}

/** Counts the documents of each set. */
export function countSets({ documents }: Plan): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { set } of documents) if (set !== undefined) counts.set(set, (counts.get(set) ?? 0) + 1);
  return counts;
}

/** Groups the public documents by the reason. */
export function publicByReason({ documents }: Plan): PublicSummary[] {
  const paths = new Map<string, string[]>();
  for (const { set, reason, source } of documents) {
    if (set !== undefined) continue;
    const group = paths.get(reason);
    if (group) group.push(source.path);
    else paths.set(reason, [source.path]);
  }
  return Array.from(paths, ([reason, group]) => ({ reason, documents: group.length, paths: group }));
}
