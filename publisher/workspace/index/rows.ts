/** Rows of `publisher.db`, as the program sees them. */
import type { KeyId } from '../../../core/keys/key-id.ts';

/**
 * What lies at a document's own name, for browsers without a reader: nothing (`none`), a fallback page (`page`), the plain copy of a public
 * document (`copy`), or a page that carries the object (`carrier`).
 */
export type Form = 'none' | 'page' | 'copy' | 'carrier';

/** Why a document is written. */
export type Change =
  | 'added'
  /** Its source changed. */
  | 'changed'
  /** It belongs to another set. */
  | 'moved'
  /** Its set has a new key. */
  | 'rekeyed'
  /** Its source is the same; how it is to be published is not. */
  | 'remade'
  /** Its files were missing. */
  | 'restored';

/** What the index knows of a document. */
export interface IndexedDocument {
  readonly id: number;
  readonly path: string;
  readonly identity: string;
  readonly size: number;
  readonly pageSet: string | undefined;
  readonly teaser: string | undefined;
  readonly setName: string | undefined;
  readonly setId: KeyId | undefined;
  readonly options: string;
  readonly head: string;
  readonly headLength: number;
  readonly content: string | undefined;
  readonly contentLength: number | undefined;
  readonly bytesOut: number;
  readonly form: Form;
  readonly placed: string | undefined;
  /** First 16 bits of SHA-256 of the target paths. */
  readonly headBin: number;
  readonly contentBin: number | undefined;
}

/** Which files a document has. */
export type IndexedFiles = Pick<IndexedDocument, 'id' | 'path' | 'head' | 'content' | 'form' | 'placed'>;

/** What a document was written from, and how. */
export type IndexedDecision = IndexedFiles &
  Pick<IndexedDocument, 'identity' | 'pageSet' | 'setName' | 'setId' | 'options'>;

/** A document that is to be written. */
export interface Task {
  readonly path: string;
  readonly change: Change;
  /** The file itself, with every link resolved. */
  readonly file: string;
  readonly size: number;
  readonly lastModified: number | undefined;
  readonly identity: string;
  readonly mediaType: string;
  readonly pageSet: string | undefined;
  readonly teaser: string | undefined;
  readonly setName: string | undefined;
  readonly options: string;
  readonly form: Form;
}

/** A metadata file of the last publication. */
export interface RoleRow {
  readonly name: string;
  readonly version: number;
  readonly length: number;
  readonly sha256: string;
  readonly expires: number;
}
