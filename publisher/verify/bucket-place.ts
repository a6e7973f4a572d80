/** A bucket with a site that is verified, as it is: past whatever serves it. */
import { StorageError } from '../../node-support/storage/errors.ts';
import type { S3Target } from '../../node-support/storage/s3.ts';
import { chunks, ListedPlace, type TreeEntry, Unreadable } from './places.ts';

export class BucketPlace extends ListedPlace {
  readonly inFlight = 8;
  readonly #bucket: S3Target;

  constructor(bucket: S3Target) {
    super();
    this.#bucket = bucket;
  }

  async open(path: string): Promise<AsyncGenerator<Uint8Array> | undefined> {
    try {
      const body = await this.#bucket.stream(path);
      return body && chunks(body);
    } catch (error) {
      throw error instanceof StorageError ? new Unreadable(error.message, { cause: error }) : error;
    }
  }

  /** @throws StorageError */
  async *entries(): AsyncGenerator<TreeEntry> {
    for await (const { path } of this.#bucket.list('/')) yield { path, isFile: true };
  }

  async namesIn(directory: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { path } of this.#bucket.list(directory)) names.push(path.slice(directory.length));
    return names;
  }
}
