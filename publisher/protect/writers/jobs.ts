/** What goes to a writing thread, and what comes back. */
import type { ErrorFields } from '../../../core/errors.ts';
import type { KeyId } from '../../../core/keys/key-id.ts';
import type { Metadata } from '../../../core/object/metadata.ts';
import { ObjectWriter, type PublisherIdentity } from '../../../core/object/writer.ts';
import { lazily } from '../../../node-support/lazily.ts';
import { PublishError, type PublishErrorCode } from '../../errors.ts';
import { type ContentOptions, SMALL_FILE } from '../content.ts';
import type { BlockRun } from './block-run.ts';
import type { Placement, WriteTask, WrittenDocument } from './contract.ts';

export type Job =
  | { readonly kind: 'write'; readonly task: WriteTask }
  /** Answers `undefined` if the previous object is not what would be written. */
  | { readonly kind: 'reuse'; readonly task: WriteTask }
  | { readonly kind: 'run'; readonly run: BlockRun }
  | { readonly kind: 'place'; readonly placement: Placement };

export interface JobResults {
  readonly write: WrittenDocument;
  readonly reuse: WrittenDocument | undefined;
  /** The digests of the blocks, one behind the other. */
  readonly run: Uint8Array;
  readonly place: number;
}

export type Answer = { readonly value: JobResults[Job['kind']] } | { readonly failure: Failure };

/** What a thread is given when it starts. Keys go this way only: no argument or environment of a process ever holds them. */
export interface ThreadData {
  readonly out: string;
  readonly site: string;
  readonly publisher: PublisherIdentity;
  readonly sets: ReadonlyMap<KeyId, Uint8Array>;
  /** One number, shared by all threads: not 0 once they are to stop. */
  readonly stop: Int32Array;
}

/** What all jobs of a thread share. */
export interface ThreadContext extends ThreadData {
  /** Used again for every small document: fresh memory costs as much as reading. A thread writes one document at a time; where it writes none, there is none. */
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
      if (Atomics.load(data.stop, 0) !== 0) throw stopped();
    },
  };
}

export function stopped(): PublishError {
  return new PublishError('stopped', 'stopped; nothing was changed');
}

/** An error on its way between threads: what is thrown loses its class and its members there. */
export interface Failure {
  readonly code: string | undefined;
  readonly message: string;
  readonly fields: ErrorFields;
  readonly cause: unknown;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof PublishError) {
    const { code, message, fields } = error;
    return { code, message, fields, cause: error.cause instanceof Error ? error.cause.message : undefined };
  }
  return {
    code: undefined,
    message: String(error),
    fields: {},
    cause: error instanceof Error ? error.stack : error,
  };
}

export function errorOf({ code, message, fields, cause }: Failure): Error {
  if (code === undefined) return new Error(message, { cause });
  return new PublishError(code as PublishErrorCode, message, { cause, fields });
}

/** How the content of a document is read. */
export function contentOptions({ source, mediaType, compress, set, headers }: WriteTask): ContentOptions {
  return { source, mediaType, compress: compress && set !== undefined, headers };
}

/** The writer of a document's object. @throws Error if there is no key for its set */
export function objectWriterOf(task: WriteTask, metadata: Metadata, thread: ThreadData): ObjectWriter {
  const { path, set, padding } = task;
  const key = set === undefined ? undefined : thread.sets.get(set);
  if (set !== undefined && key === undefined) throw new Error('the writers were not given the key of this set');
  return new ObjectWriter({
    site: thread.site,
    path,
    publisher: thread.publisher,
    metadata,
    ...(set !== undefined && key && { set: { id: set, key } }),
    ...(set !== undefined && padding && { paddingLength: 'padme' }),
  });
}

/** What is answered for a document, but for what differs from one to the other. */
export function written(
  head: { readonly digest: string; readonly length: number },
  rest: Partial<WrittenDocument> & Pick<WrittenDocument, 'bytesOut'>,
): WrittenDocument {
  return { head: head.digest, headLength: head.length, reused: false, staged: false, ...rest };
}
