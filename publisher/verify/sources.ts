/** Places of a site that is verified: a directory, a bucket, or a web host. */
import { open, opendir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { PublicationError } from '../../core/publication/errors.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { printable } from '../../node-support/printable.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { S3Target } from '../../node-support/storage/s3.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import { PublishError, whenUnreadable } from '../errors.ts';
import { type PublicationSource, startOf } from '../publication/sources.ts';

export abstract class VerifiedSource implements PublicationSource {
  abstract readonly inFlight: number;

  /**
   * Opens a file as a stream.
   *
   * @returns `undefined` if there is none
   * @throws Unreadable, also out of the stream
   */
  abstract open(path: string): Promise<AsyncIterable<Uint8Array> | undefined>;

  /**
   * Reads the first bytes of a file.
   *
   * @throws PublicationError for metadata that cannot be read; PublishError `unreadable` for what everything else depends on
   */
  async read(path: string, maximum: number): Promise<Uint8Array | undefined> {
    try {
      const stream = await this.open(path);
      return stream && (await startOf(stream, maximum + 1)); // a byte more shows that the file is longer
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      const message = `${printable(path)}: ${error.message}`;
      if (path.startsWith(METADATA_PATH)) throw new PublicationError('metadata-missing', message, { cause: error });
      throw new PublishError('unreadable', message, { cause: error });
    }
  }
}

/** A file that is there, or may be, cannot be read. */
export class Unreadable extends Error {}

/** A source that can say what lies there. */
export abstract class ListedSource extends VerifiedSource {
  /** Yields everything that is no directory, however much that is. */
  abstract entries(): AsyncGenerator<TreeEntry>;

  /** Lists names of what a directory holds; none, if it cannot be read. */
  abstract namesIn(directory: string): Promise<string[]>;

  /** @throws as {@link entries} where nothing can be listed */
  async check(): Promise<void> {
    const entries = this.entries();
    await entries.next();
    await entries.return(undefined);
  }
}

/** Something in a directory that is no directory. */
export interface TreeEntry {
  /** Path from the top of the tree, with a leading slash. */
  readonly path: string;
  /** Tells whether a web host would serve it: a file, or a link to one. */
  readonly isFile: boolean;
}

const NO_FILE = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

export class DirectorySource extends ListedSource {
  readonly inFlight = 4;
  readonly #directory: string;

  constructor(directory: string) {
    super();
    this.#directory = directory;
  }

  async open(path: string): Promise<AsyncGenerator<Uint8Array> | undefined> {
    const file = join(this.#directory, path);
    const handle = await open(file).catch((error: unknown) => {
      if (NO_FILE.includes(systemCode(error) ?? '')) return undefined;
      throw unreadableFile(error);
    });
    return handle && named(handle.createReadStream());
  }

  /** Yields links to files as files; a link to a directory is not followed. @throws PublishError `unreadable` */
  async *entries(): AsyncGenerator<TreeEntry> {
    const waiting = [''];
    for (let prefix = waiting.pop(); prefix !== undefined; prefix = waiting.pop()) {
      const directory = join(this.#directory, prefix);
      const entries = await opendir(directory).catch(whenUnreadable('unreadable', directory));
      for await (const entry of entries) {
        const path = `${prefix}/${entry.name}`;
        if (entry.isDirectory()) waiting.push(path);
        else yield { path, isFile: entry.isFile() || (entry.isSymbolicLink() && (await this.#leadsToFile(path))) };
      }
    }
  }

  async namesIn(directory: string): Promise<string[]> {
    return readdir(join(this.#directory, directory)).catch(() => []);
  }

  async #leadsToFile(path: string): Promise<boolean> {
    return stat(join(this.#directory, path)).then(
      (found) => found.isFile(),
      () => false,
    );
  }
}

/** A bucket, past the web host in front of it. */
export class BucketSource extends ListedSource {
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

async function* named(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? unreadableFile(error) : error;
  }
}

function unreadableFile(error: unknown): Unreadable {
  return new Unreadable(`cannot be read: ${systemReason(error)}`, { cause: error });
}

const TIMEOUT = 30_000;
const NO_DOCUMENT = [404, 410];
/** Bytes a second that a host must give on average, once one answer has taken {@link SLOW_START}: otherwise it could hold a check up for days. */
const SLOWEST = 1024;
const SLOW_START = 60_000;

export class WebSource extends VerifiedSource {
  readonly inFlight = 8;
  readonly #base: string;
  readonly #slowStart: number;

  /**
   * @param base - the URL under which the site lies, without a slash at its end
   * @param slowStart - milliseconds for which an answer may be as slow as it likes
   */
  constructor(base: string, slowStart = SLOW_START) {
    super();
    this.#base = base;
    this.#slowStart = slowStart;
  }

  async open(path: string): Promise<AsyncGenerator<Uint8Array> | undefined> {
    try {
      const { statusCode, body } = await request(this.#base + urlPathOf(path), {
        headersTimeout: TIMEOUT,
        bodyTimeout: TIMEOUT,
      });
      body.on('error', () => undefined); // a body that is not read to the end raises one; real errors come out of the iteration
      if (statusCode === 200) return chunks(body, this.#slowStart);
      body.destroy();
      if (NO_DOCUMENT.includes(statusCode)) return undefined;
      throw new Unreadable(`the host answers ${statusCode}`);
    } catch (error) {
      throw error instanceof Unreadable ? error : noAnswer(error);
    }
  }
}

/** Yields what a host sends, as long as it is not too slow about it. */
async function* chunks(
  body: AsyncIterable<Uint8Array> & { destroy(): void },
  slowStart = SLOW_START,
): AsyncGenerator<Uint8Array> {
  let [waited, received, asked] = [0, 0, performance.now()];
  try {
    for await (const chunk of body) {
      waited += performance.now() - asked; // time spent on a chunk here is no fault of the host's
      received += chunk.length;
      if (waited > slowStart && received < (waited / 1000) * SLOWEST) throw new Unreadable('the host is too slow');
      yield chunk;
      asked = performance.now();
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : noAnswer(error);
  } finally {
    body.destroy();
  }
}

function noAnswer(error: unknown): Unreadable {
  return new Unreadable(`the host does not answer: ${systemReason(error)}`, { cause: error });
}
