/**
 * Target that published files are put into for a content host to serve: a directory, or a bucket that speaks S3. Both keep one contract, and one
 * suite of tests runs on both. Paths begin with `/` and are names as they are, never percent-encoded.
 */
import { StorageError } from './errors.ts';

/** Bytes of the longest path. Buckets hold less. */
const MAXIMUM_PATH = 4096;

/** A file at a target. */
export interface StoredFile {
  /** Path such as `/2026/today.html`. */
  readonly path: string;
  /** Bytes. */
  readonly length: number;
  /** Time when it was put there, seconds since 1970, by the target's clock. */
  readonly modified: number;
  readonly tag: string;
  /** Statement of the target on the content, without reading it; for {@link Target.matches}. */
  readonly digest: string | undefined;
}

/** Bytes, or the path of a file that has them. */
export type Source = Uint8Array | { readonly file: string };

export interface UploadOptions {
  readonly contentType: string;
  readonly cacheControl: string;
  /**
   * Puts it only in place of the file with this tag; `null`: only where there is none. A bucket decides in one step, where it can;
   * a directory looks just before. Then all that was put before is there to stay, too.
   */
  readonly replacing?: string | null;
}

export interface Target {
  /** Name of it in messages; holds no secret. */
  readonly name: string;
  /** Lists all files whose path begins with `prefix`, in no order. A target that is not there yet is empty. */
  list(prefix: string): AsyncIterable<StoredFile>;
  /** `undefined` if there is none. */
  head(path: string): Promise<StoredFile | undefined>;
  /** Reads a file's content. @returns `undefined` if there is none @throws FileTooLong where it is longer than `maximum` */
  get(path: string, maximum: number): Promise<Uint8Array | undefined>;
  /** Tells whether a file has this very content, by what was listed of it; it is read only where that says too little. */
  matches(file: Pick<StoredFile, 'path' | 'length' | 'digest'>, source: Source): Promise<boolean>;
  /** Puts a file whole or not at all, in place of what was there. */
  upload(path: string, source: Source, options: UploadOptions): Promise<void>;
  remove(paths: Iterable<string>): Promise<void>;
  /** Removes what interrupted puts left before that time, seconds since 1970. */
  removeLeftovers(before: number): Promise<void>;
  /** Time that its own clock said with its last answer, in seconds since 1970; `undefined` where it has said nothing. Left out where it has none. */
  time?(): number | undefined;
  close(): void;
}

/** Tells whether a path stays inside a target and can stand in every kind of it. */
export function isTargetPath(path: string): boolean {
  if (path.includes('\0') || !path.isWellFormed() || Buffer.byteLength(path) > MAXIMUM_PATH) return false;
  const [first, ...segments] = path.split('/');
  const areNames = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  return first === '' && segments.length > 0 && areNames;
}

/** @throws StorageError `path-refused` */
export function checkTargetPath(path: string): void {
  if (isTargetPath(path)) return;
  throw new StorageError('path-refused', `no file can be put at ${JSON.stringify(path)}`);
}

/** The file exceeds `maximum`. Callers may treat it as absent. */
export class FileTooLong extends StorageError {
  constructor(name: string, path: string, maximum: number) {
    super('target-failed', `${path} in ${name} is longer than ${maximum} bytes`);
  }
}

/** The condition {@link UploadOptions.replacing} does not hold. */
export function changed(name: string, path: string, cause?: unknown): StorageError {
  return new StorageError('target-changed', `${path} in ${name} was changed at the same time`, { cause });
}
