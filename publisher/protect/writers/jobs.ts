/** What goes to a writing thread, and what comes back. */
import type { ErrorFields } from '../../../core/errors.ts';
import type { KeyId } from '../../../core/keys/key-id.ts';
import type { PublisherIdentity } from '../../../core/object/writer.ts';
import { lazily } from '../../../node-support/lazily.ts';
import { PublishError, type PublishErrorCode } from '../../errors.ts';
import { SMALL_FILE } from '../content.ts';
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
  readonly hint: string | undefined;
  readonly cause: unknown;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof PublishError) {
    const { code, message, fields, hint } = error;
    return { code, message, fields, hint, cause: error.cause instanceof Error ? error.cause.message : undefined };
  }
  return {
    code: undefined,
    message: String(error),
    fields: {},
    hint: undefined,
    cause: error instanceof Error ? error.stack : error,
  };
}

export function errorOf({ code, message, fields, hint, cause }: Failure): Error {
  if (code === undefined) return new Error(message, { cause });
  return new PublishError(code as PublishErrorCode, message, { cause, fields, hint });
}
