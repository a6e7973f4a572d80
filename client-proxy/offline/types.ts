/** Types of what `wispr sync` asks for, hears on the way, and gets. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { ProxyOptions } from '../server/open-reader.ts';

/** Choice of documents of a site; without any wish all that the reader is entitled to. */
export interface SyncWish {
  readonly site: string;
  /** Key ids of sets; `public` stands for everything that is not encrypted. */
  readonly sets?: readonly (KeyId | 'public')[];
  /** Document paths begin with one of these: `/2026/`. */
  readonly prefixes?: readonly string[];
}

export interface SyncOptions extends SyncWish, Omit<ProxyOptions, 'port' | 'onRefusal'> {
  readonly parallel?: number;
  /** Called whenever something has changed, several times a second at most. */
  readonly onProgress?: (progress: SyncProgress) => void;
  /** Ends it; what was fetched stays, and the next run goes on from there. */
  readonly signal?: AbortSignal;
  /** Options as they were typed, of which a Reader that runs has its own: refused there. */
  readonly ownOptions?: readonly string[];
}

export interface SyncProgress {
  /** Reading the publication; asking for lengths; fetching. */
  readonly step: 'listing' | 'measuring' | 'fetching';
  /** Documents that are here, out of those that are wanted. */
  readonly documents: number;
  readonly ofDocuments: number;
  /** The same in bytes, ciphertext and heads; `ofBytes` is 0 before it is known. */
  readonly bytes: number;
  readonly ofBytes: number;
}

/** Documents, and their bytes in the cache. */
export interface SyncCount {
  readonly documents: number;
  readonly bytes: number;
}

/** Reason why something could not be had: the newest publication, or the newer descriptor that it names. */
export interface FailureReason {
  /** Code out of docs/generated/errors.md. */
  readonly code: string;
  readonly message: string;
}

export interface RefusedSet extends FailureReason {
  readonly set: KeyId;
  readonly documents: number;
}

/** A document that could not be had, although its key is there; or a whole list of documents that is no good. */
export interface FailedDocument extends FailureReason {
  /** Path, or of a list its name, such as `sports`: paths begin with a slash. */
  readonly path: string;
}

export interface SyncSummary {
  readonly site: string;
  /** Version of the publication, and when it was last confirmed; seconds since 1970. */
  readonly version: number;
  readonly confirmed: number;
  /** Reason why the look for a newer publication failed; all else is about the one that was at hand then. */
  readonly failedLook?: FailureReason;
  /** Reason why the newer descriptor that the newest publication names could not be had: the previous one is in use. */
  readonly failedDescriptor?: FailureReason;
  /** Time until which all this can be read without a network; seconds since 1970. */
  readonly readableUntil: number;
  /** Documents that are here now, of those that were wanted; the next two together. */
  readonly here: SyncCount;
  readonly fetched: SyncCount;
  readonly alreadyThere: SyncCount;
  /** Sets whose keys the key server does not give this reader. */
  readonly refused: readonly RefusedSet[];
  /** Sets whose keys could not be had this time: the key server did not answer, or gave nothing that can be used. It is not known that they are not for the reader. */
  readonly withoutKey: readonly RefusedSet[];
  readonly failed: readonly FailedDocument[];
}
