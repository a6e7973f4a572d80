/**
 * Jobs for the writers of documents, and their answers. Both cross to worker threads and back, so they are plain data.
 *
 * A document is written in two stages, because a site has to stay readable while its next publication is made (docs/spec/publication.md,
 * section 8): `write` makes files with immutable names, which no publication names yet; `place` then replaces what lies at the document's own name.
 */
import type { KeyId } from '../../../core/crypto/key-id.ts';
import type { ErrorFields } from '../../../core/errors.ts';
import type { SealingPlan } from '../../../core/object/sealing.ts';
import type { PublisherIdentity } from '../../../core/object/writer.ts';
import { lazily } from '../../../node-support/lazily.ts';
import { PublishError, type PublishErrorCode, stopped } from '../../errors.ts';
import type { SourceFile } from '../../site/walk.ts';
import { SMALL_FILE } from '../content.ts';

export interface WriteTask {
  readonly path: string;
  readonly source: SourceFile;
  /** Has no parameters. */
  readonly mediaType: string;
  /** Tells whether gzip is used where it helps; it never is for a public document, whose content lies at a URL of its own. */
  readonly compress: boolean;
  /** Key id of the set; `undefined` for a public document. */
  readonly set: KeyId | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Tells whether the message is padded, so that its length says less; encrypted documents only. */
  readonly padding: boolean;
  /**
   * `html`: the object is carried inside the page at the document's own place, over the text of `fallbackPage`, and not beside it.
   * Encrypted documents only.
   */
  readonly carrier: 'beside' | 'html';
  /** Page for `carrier: 'html'`. A fallback page beside its object is placed, not written. */
  readonly fallbackPage?: string | undefined;
  /** Name of the object (hexadecimal) that was written for this path before: kept, if it is still exactly what would be written. */
  readonly previous?: string | undefined;
}

/** A written document. Digests are SHA-256 in hexadecimal; lengths in bytes. */
export interface WrittenDocument {
  /** Digest of the object's head: the target's hash, and the object's name. */
  readonly head: string;
  readonly headLength: number;
  /** Digest of a public document's content, and its name. */
  readonly content?: string;
  readonly contentLength?: number;
  /** Bytes of all files that make up this document, written now or before. */
  readonly bytesOut: number;
  /** Tells whether the previous object was right, and is kept as it is. */
  readonly reused: boolean;
  /**
   * Tells whether a page that carries the object waits to be placed (`Placement.kind: 'carrier'`). Always for `carrier: 'html'`, unless
   * the page that lies there already is the one.
   */
  readonly staged: boolean;
}

/** Makes the answer for a document; `rest` has what differs from one to the other. */
export function written(
  head: { readonly digest: string; readonly length: number },
  rest: Partial<WrittenDocument> & Pick<WrittenDocument, 'bytesOut'>,
): WrittenDocument {
  return { head: head.digest, headLength: head.length, reused: false, staged: false, ...rest };
}

/** A file for a document's own place, for browsers that have no reader. The file there is replaced in one step. */
export type Placement =
  | { readonly kind: 'page'; readonly path: string; readonly page: string }
  /** The plain copy of a public document: the file named by its digest, once more. */
  | { readonly kind: 'copy'; readonly path: string; readonly content: string }
  /** The page that {@link WrittenDocument.staged} speaks of. */
  | { readonly kind: 'carrier'; readonly path: string; readonly head: string };

/** Blocks `first` to `end` (which is not in it) of a large document whose content is its source as it is. */
export interface BlockRun {
  readonly source: SourceFile;
  readonly plan: SealingPlan;
  /** Path of the file, which exists already. */
  readonly file: string;
  /** Name in messages. */
  readonly shown: string;
  /** The place in that file where the payload begins. */
  readonly payloadOffset: number;
  readonly first: number;
  readonly end: number;
}

export type Job =
  | { readonly kind: 'write'; readonly task: WriteTask }
  | { readonly kind: 'reuse'; readonly task: WriteTask }
  | { readonly kind: 'run'; readonly run: BlockRun }
  | { readonly kind: 'place'; readonly placement: Placement };

export interface JobResults {
  readonly write: WrittenDocument;
  readonly reuse: WrittenDocument | undefined;
  /** The digests of the blocks, one behind the other. */
  readonly run: Uint8Array;
  /** Bytes of the file. */
  readonly place: number;
}

export interface JobPool {
  /** @param bytes - about how much the job reads */
  perform<Kind extends Job['kind']>(job: Job & { readonly kind: Kind }, bytes: number): Promise<JobResults[Kind]>;
}

export type Answer = { readonly value: JobResults[Job['kind']] } | { readonly failure: Failure };

/** Data that a thread is given when it starts. Keys go this way only: no argument or environment of a process ever holds them. */
export interface ThreadData {
  readonly out: string;
  readonly site: string;
  readonly publisher: PublisherIdentity;
  readonly sets: ReadonlyMap<KeyId, Uint8Array>;
  /** A number that all threads share: not 0 once they are to stop. */
  readonly stop: Int32Array;
}

export interface ThreadContext extends ThreadData {
  /** Used again for every small document: fresh memory costs as much as reading. A thread writes one document at a time; an idle one has none. */
  readonly memory: { readonly source: () => Uint8Array; readonly object: () => Uint8Array };
  /** Asked for every document, and for every block. @throws PublishError `stopped` */
  readonly checkNotStopped: () => void;
}

export function threadContext(data: ThreadData): ThreadContext {
  return {
    ...data,
    memory: {
      source: lazily(() => Buffer.allocUnsafeSlow(SMALL_FILE)),
      object: lazily(() => Buffer.allocUnsafeSlow(2 * SMALL_FILE)),
    },
    checkNotStopped: () => {
      if (Atomics.load(data.stop, 0) !== 0) throw stopped('nothing was changed');
    },
  };
}

/** An error on its way between threads: what is thrown loses its class and its members there. */
export interface Failure {
  readonly code?: PublishErrorCode;
  readonly message: string;
  readonly fields?: ErrorFields;
  readonly cause: unknown;
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof PublishError)) return { message: String(error), cause: error instanceof Error && error.stack };
  const { code, message, fields, cause } = error;
  return { code, message, fields, cause: cause instanceof Error && cause.message };
}

export function errorOf({ code, message, fields = {}, cause }: Failure): Error {
  return code ? new PublishError(code, message, { cause, fields }) : new Error(message, { cause });
}
