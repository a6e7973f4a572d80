/**
 * A bucket as a target, by the official client. Endpoint, region and credentials come from where that client looks for them: the environment,
 * `~/.aws`, the machine's role. Never from arguments or wispr.json.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { forEachInFlight } from '../in-flight.ts';
import { withinTime } from '../within-time.ts';
import { StorageError } from './errors.ts';
import { createClient, S3_LIMITS, type S3Limits } from './s3-client.ts';
import { digestIn, expectedTag, lengthOf, PART_LENGTH, partLengthFor } from './s3-digest.ts';
import { isMissing, isStatus, storageError } from './s3-errors.ts';
import {
  changed,
  checkTargetPath,
  FileTooLong,
  type Source,
  type StoredFile,
  type Target,
  type UploadOptions,
} from './target.ts';

/** Number of parts of a file in memory, at most. */
const PARTS_IN_FLIGHT = 3;
/** Bytes of the longest key. */
const MAXIMUM_KEY = 1024;
const REMOVALS_IN_FLIGHT = 16;

interface ObjectRef {
  readonly Bucket: string;
  readonly Key: string;
}

interface Bounds {
  readonly abortSignal: AbortSignal;
  readonly requestTimeout: number;
}

export class S3Target implements Target {
  readonly name: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #client: S3Client;
  readonly #limits: S3Limits;
  readonly #closing = new AbortController();
  #time: number | undefined;
  /** Files of all listings so far, and the milliseconds for which they were waited for. */
  #listed = { files: 0, milliseconds: 0 };

  /** @param prefix - of all keys, without a slash at its end; may be empty */
  constructor(bucket: string, prefix: string, limits: S3Limits = S3_LIMITS) {
    this.#bucket = bucket;
    this.#limits = limits;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#client = createClient(process.env, limits, (time) => {
      this.#time = time;
    });
  }

  time(): number | undefined {
    return this.#time;
  }

  /** Lists files in the order of the server: not all keep to the protocol's. */
  async *list(prefix: string): AsyncGenerator<StoredFile> {
    const { files: mostFiles, pages: mostPages } = this.#limits;
    let [pages, files] = [0, 0];
    let token: string | undefined;
    do {
      const page = await this.#page(prefix, token);
      files += page.files.length;
      this.#listed.files += page.files.length;
      if (++pages > mostPages) throw this.#outOfOrder(`lists more than ${mostPages} pages`);
      if (files > mostFiles) throw this.#outOfOrder(`lists more than ${mostFiles} files`);
      yield* page.files;
      if (page.next !== undefined && page.next === token) throw this.#outOfOrder('lists one page again and again');
      token = page.next;
    } while (token !== undefined);
  }

  async head(path: string): Promise<StoredFile | undefined> {
    return this.#find('look at', path, async (place, bounds) => {
      const command = new HeadObjectCommand(place);
      const { ContentLength = 0, LastModified, ETag = '' } = await this.#client.send(command, bounds);
      return stored(path, ContentLength, LastModified, ETag);
    });
  }

  async get(path: string, maximum: number): Promise<Uint8Array | undefined> {
    const time = this.#limits.operation + maximum / this.#limits.reading;
    const read = async (place: ObjectRef, bounds: Bounds) => {
      const { Body } = await this.#client.send(new GetObjectCommand(place), bounds);
      const parts: Uint8Array[] = [];
      let length = 0;
      for await (const part of Body as AsyncIterable<Uint8Array>) {
        length += part.length;
        if (length > maximum) throw new FileTooLong(this.name, path, maximum);
        parts.push(part);
      }
      return Buffer.concat(parts);
    };
    return this.#find('read', path, read, time);
  }

  /** A file's content, however long; only the beginning of the answer has its time. @returns `undefined` if there is none */
  async stream(path: string): Promise<Readable | undefined> {
    return this.#find('read', path, async (place, bounds) => {
      const { Body } = await this.#client.send(new GetObjectCommand(place), bounds);
      return Body as Readable;
    });
  }

  /** A tag is the MD5 of the content, or of the MD5s of its parts; where the server keeps its own kind, everything is sent again. */
  async matches(
    { path, length, digest }: Pick<StoredFile, 'path' | 'length' | 'digest'>,
    source: Source,
  ): Promise<boolean> {
    try {
      if ((await lengthOf(source)) !== length) return false;
      return digest === (await expectedTag(source, length));
    } catch (error) {
      throw this.#error('compare', path, error);
    }
  }

  async upload(path: string, source: Source, options: UploadOptions): Promise<void> {
    const input = { ...this.#place(path), ContentType: options.contentType, CacheControl: options.cacheControl };
    try {
      await this.#send(input, source, options.replacing);
    } catch (error) {
      if (isStatus(error, 412, 409)) throw changed(this.name, path, error);
      throw this.#error('write', path, error);
    }
  }

  async remove(paths: Iterable<string>): Promise<void> {
    const remove = (path: string) =>
      this.#find('remove', path, (place, bounds) => this.#client.send(new DeleteObjectCommand(place), bounds));
    await forEachInFlight(paths, REMOVALS_IN_FLIGHT, async (path) => {
      await remove(path);
    });
  }

  /** Uploads in parts that were never completed: they are invisible, and cost money. */
  async removeLeftovers(before: number): Promise<void> {
    const place = { Bucket: this.#bucket, Prefix: this.#prefix };
    try {
      const list = (bounds: Bounds) => this.#client.send(new ListMultipartUploadsCommand(place), bounds);
      const { Uploads = [] } = await this.#bounded(list);
      for (const { Key, UploadId, Initiated } of Uploads) {
        if (Initiated === undefined || Initiated.getTime() / 1000 >= before) continue;
        const command = new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId });
        await this.#bounded((bounds) => this.#client.send(command, bounds));
      }
    } catch (error) {
      // Permission to put does not include listing these, and not every server supports it.
      if (isStatus(error, 403, 404, 501)) return;
      throw this.#error('list uploads of', '/', error);
    }
  }

  close(): void {
    this.#closing.abort(new Error('it was closed'));
    this.#client.destroy();
  }

  async #send(input: PutObjectCommandInput, source: Source, replacing: string | null | undefined): Promise<void> {
    try {
      await this.#sendOnce({ ...input, ...conditionOf(replacing) }, source);
    } catch (error) {
      // A server that knows no conditions: the look just before has to do.
      if (replacing === undefined || !isStatus(error, 501)) throw error;
      await this.#sendOnce(input, source);
    }
  }

  async #sendOnce(input: PutObjectCommandInput, source: Source): Promise<void> {
    const length = await lengthOf(source);
    if (!(source instanceof Uint8Array) && length > PART_LENGTH) return this.#sendParts(input, source.file, length);
    const Body = source instanceof Uint8Array ? source : await readFile(source.file);
    const command = new PutObjectCommand({ ...input, Body });
    const time = this.#limits.operation + length / this.#limits.sending;
    await withinTime(time, (abortSignal) => this.#client.send(command, { abortSignal }), this.#closing.signal);
  }

  async #sendParts(input: PutObjectCommandInput, file: string, length: number): Promise<void> {
    const partSize = partLengthFor(length);
    const params = { ...input, Body: createReadStream(file, { highWaterMark: 1024 * 1024 }) };
    const client = this.#clientForParts(this.#limits.operation + partSize / this.#limits.sending);
    await new Upload({ client, params, partSize, queueSize: PARTS_IN_FLIGHT }).done();
  }

  /** A whole file may take hours, each part has its time. The library that sends them has no bound, and hands no signal on. */
  #clientForParts(milliseconds: number): S3Client {
    const send = (command: Parameters<S3Client['send']>[0]) =>
      withinTime(milliseconds, (abortSignal) => this.#client.send(command, { abortSignal }), this.#closing.signal);
    return Object.create(this.#client, { send: { value: send } });
  }

  async #page(prefix: string, token: string | undefined): Promise<{ files: StoredFile[]; next: string | undefined }> {
    const Prefix = this.#prefix + prefix.slice(1);
    // Encoded, because names may have characters that XML cannot hold.
    const { page: MaxKeys } = this.#limits;
    const input = { Bucket: this.#bucket, Prefix, MaxKeys, EncodingType: 'url', ContinuationToken: token } as const;
    try {
      const list = (bounds: Bounds) => this.#client.send(new ListObjectsV2Command(input), bounds);
      const { Contents = [], NextContinuationToken } = await this.#inListingTime(list);
      const files = Contents.map(({ Key = '', Size = 0, LastModified, ETag = '' }) => {
        const key = decodeURIComponent(Key.replaceAll('+', ' '));
        if (!key.startsWith(Prefix)) throw this.#outOfOrder('lists files that were not asked for');
        return stored(`/${key.slice(this.#prefix.length)}`, Size, LastModified, ETag);
      });
      // Directories are marked so by some tools.
      return { files: files.filter(({ path }) => !path.endsWith('/')), next: NextContinuationToken || undefined };
    } catch (error) {
      throw this.#error('list', prefix, error);
    }
  }

  /** Gives a page the time of an operation; all of them have a time together, so that many slow ones do not add up. */
  async #inListingTime<Result>(work: (bounds: Bounds) => Promise<Result>): Promise<Result> {
    const { listings, listing, operation } = this.#limits;
    const left = Math.max(1, listings + this.#listed.files / listing - this.#listed.milliseconds);
    const started = performance.now();
    try {
      return await this.#bounded(work, Math.min(operation, left));
    } finally {
      this.#listed.milliseconds += performance.now() - started;
    }
  }

  #outOfOrder(what: string): StorageError {
    return new StorageError('target-failed', `${this.name} ${what}`);
  }

  #place(path: string): ObjectRef {
    checkTargetPath(path);
    const Key = this.#prefix + path.slice(1);
    if (Buffer.byteLength(Key) > MAXIMUM_KEY)
      throw new StorageError('path-refused', `${path} is too long for a bucket: at most ${MAXIMUM_KEY} bytes`);
    return { Bucket: this.#bucket, Key };
  }

  /** Does something small: with all its attempts and its whole answer in a time. */
  async #bounded<Result>(
    work: (bounds: Bounds) => Promise<Result>,
    milliseconds: number = this.#limits.operation,
  ): Promise<Result> {
    const { attempt } = this.#limits;
    const bounded = (abortSignal: AbortSignal) => work({ abortSignal, requestTimeout: attempt });
    return withinTime(milliseconds, bounded, this.#closing.signal);
  }

  async #find<Found>(
    doing: string,
    path: string,
    work: (place: ObjectRef, bounds: Bounds) => Promise<Found>,
    milliseconds?: number,
  ): Promise<Found | undefined> {
    try {
      const place = this.#place(path);
      return await this.#bounded((bounds) => work(place, bounds), milliseconds);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw this.#error(doing, path, error);
    }
  }

  #error(doing: string, path: string, error: unknown): StorageError {
    return storageError(`cannot ${doing} ${path} in ${this.name}`, error);
  }
}

function stored(path: string, length: number, modified: Date | undefined, etag: string): StoredFile {
  return { path, length, modified: (modified?.getTime() ?? 0) / 1000, tag: etag, digest: digestIn(etag) };
}

function conditionOf(replacing: string | null | undefined): Partial<PutObjectCommandInput> {
  if (replacing === undefined) return {};
  return replacing === null ? { IfNoneMatch: '*' } : { IfMatch: replacing };
}
