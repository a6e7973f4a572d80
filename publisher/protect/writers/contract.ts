/**
 * What the writers of documents are asked for, and what they answer. Both cross to worker threads and back, so they are plain data.
 *
 * A document is written in two stages, because a site has to stay readable while its next publication is made (docs/spec/publication.md,
 * section 8): `write` makes files with immutable names, which no publication names yet; `place` then replaces what lies at the document's own name.
 */
import type { KeyId } from '../../../core/keys/key-id.ts';
import type { PublisherIdentity } from '../../../core/object/writer.ts';
import type { SourceFile } from '../../site/walk.ts';

/** One document to write. */
export interface WriteTask {
  /** The document's path: `/a/b.html`. */
  readonly path: string;
  readonly source: SourceFile;
  /** Without parameters. */
  readonly mediaType: string;
  /** Whether gzip is used where it helps; it never is for a public document, whose content lies at a URL of its own. */
  readonly compress: boolean;
  /** Key id of the set; `undefined` for a public document. */
  readonly set: KeyId | undefined;
  /** Further response headers to sign. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the message is padded, so that its length says less; encrypted documents only. */
  readonly padding: boolean;
  /**
   * `html`: the object is carried inside the page at the document's own place, over the text of `fallbackPage`, and not beside it.
   * Encrypted documents only.
   */
  readonly carrier: 'beside' | 'html';
  /** For `carrier: 'html'`. A fallback page beside its object is placed, not written. */
  readonly fallbackPage?: string;
  /** Name of the object (hexadecimal) that was written for this path before: kept, if it is still exactly what would be written. */
  readonly previous?: string;
}

/** What was written. Digests are SHA-256 in hexadecimal; lengths in bytes. */
export interface WrittenDocument {
  /** Digest of the object's head: the target's hash, and the object's name. */
  readonly head: string;
  readonly headLength: number;
  /** Digest of a public document's content, and its name. */
  readonly content?: string;
  readonly contentLength?: number;
  /** Bytes of all files that make up this document, written now or before. */
  readonly bytesOut: number;
  /** Whether the previous object was right, and is kept as it is. */
  readonly reused: boolean;
  /**
   * Whether a page that carries the object waits to be placed (`Placement.kind: 'carrier'`). Always for `carrier: 'html'`, unless
   * the page that lies there already is the one.
   */
  readonly staged: boolean;
}

/** What goes to a document's own place, for browsers that have no reader. The file there is replaced in one step. */
export type Placement =
  /** A fallback page. */
  | { readonly kind: 'page'; readonly path: string; readonly page: string }
  /** The plain copy of a public document: the file named by its digest, once more. */
  | { readonly kind: 'copy'; readonly path: string; readonly content: string }
  /** The page that {@link WrittenDocument.staged} speaks of. */
  | { readonly kind: 'carrier'; readonly path: string; readonly head: string };

/** Writes documents on all cores. Calls may overlap; a caller with many documents awaits some before it makes more. */
export interface DocumentWriters {
  /**
   * Writes what has immutable names: the object, and a public document's content. Directories are made as they are needed.
   *
   * @throws PublishError `source-refused`, `output-failed`, `stopped`
   */
  write(task: WriteTask): Promise<WrittenDocument>;
  /**
   * Replaces what lies at the document's own name.
   *
   * @returns bytes of the file
   * @throws PublishError `output-failed`, `stopped`
   */
  place(placement: Placement): Promise<number>;
  /** Ends the threads, once what was begun is done. Whatever is called afterwards is refused. */
  close(): Promise<void>;
}

export interface WritersOptions {
  /** The directory that is written. */
  readonly out: string;
  readonly site: string;
  readonly publisher: PublisherIdentity;
  /** Set keys by their key ids. */
  readonly sets: ReadonlyMap<KeyId, Uint8Array>;
  /** Stops: calls under way and to come fail with `stopped`. What has a final name by then is whole. */
  readonly signal?: AbortSignal;
  /** Threads; as many as the machine has cores if left out. */
  readonly threads?: number;
}
