/**
 * A bucket as a target, by the official client. Endpoint, region and credentials come from where that client looks for them: the environment,
 * `~/.aws`, the machine's role. Never from arguments or wispr.json.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { forEachInFlight } from '../in-flight.ts';
import { StorageError } from './errors.ts';
import { codeOf, describe, hintOf, isStatus, nameOf } from './s3-errors.ts';
import {
  changed,
  checkTargetPath,
  FileTooLong,
  type PutOptions,
  type Source,
  type StoredFile,
  type Target,
} from './target.ts';

/** Files longer than this are sent in parts; at most {@link PARTS_IN_FLIGHT} of them are in memory. */
const PART_LENGTH = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT = 3;
/** The protocol allows 10,000 parts. */
const MAXIMUM_PARTS = 9000;
/** Bytes of the longest key. */
const MAXIMUM_KEY = 1024;
const REMOVALS_IN_FLIGHT = 16;
const CONNECTIONS = 64;

export class S3Target implements Target {
  readonly name: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #client: S3Client;

  /** @param prefix - of all keys, without a slash at its end; may be empty */
  constructor(bucket: string, prefix: string) {
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#client = new S3Client(clientConfiguration(process.env));
  }

  async *list(prefix: string): AsyncGenerator<StoredFile> {
    // Encoded, because names may have characters that XML cannot hold.
    const input = { Bucket: this.#bucket, Prefix: this.#prefix + prefix.slice(1), EncodingType: 'url' } as const;
    try {
      for await (const page of paginateListObjectsV2({ client: this.#client }, input)) {
        for (const { Key = '', Size = 0, LastModified, ETag = '' } of page.Contents ?? []) {
          const key = decodeURIComponent(Key.replaceAll('+', ' '));
          const path = `/${key.slice(this.#prefix.length)}`;
          if (!path.endsWith('/')) yield stored(path, Size, LastModified, ETag); // some tools mark directories so
        }
      }
    } catch (error) {
      throw this.#error('list', prefix, error);
    }
  }

  async head(path: string): Promise<StoredFile | undefined> {
    return this.#find('look at', path, async (place) => {
      const { ContentLength = 0, LastModified, ETag = '' } = await this.#client.send(new HeadObjectCommand(place));
      return stored(path, ContentLength, LastModified, ETag);
    });
  }

  async get(path: string, maximum: number): Promise<Uint8Array | undefined> {
    return this.#find('read', path, async (place) => {
      const { Body } = await this.#client.send(new GetObjectCommand(place));
      const parts: Uint8Array[] = [];
      let length = 0;
      for await (const part of Body as AsyncIterable<Uint8Array>) {
        length += part.length;
        if (length > maximum) throw new FileTooLong(this.name, path, maximum);
        parts.push(part);
      }
      return Buffer.concat(parts);
    });
  }

  /** A tag is the MD5 of the content, or of the MD5s of its parts; where the server keeps its own kind, everything is sent again. */
  async holds(
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

  async put(path: string, source: Source, options: PutOptions): Promise<void> {
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
      this.#find('remove', path, (place) => this.#client.send(new DeleteObjectCommand(place)));
    await forEachInFlight(paths, REMOVALS_IN_FLIGHT, async (path) => {
      await remove(path);
    });
  }

  /** Uploads in parts that were never completed: nobody sees them, and they cost. */
  async removeLeftovers(before: number): Promise<void> {
    const place = { Bucket: this.#bucket, Prefix: this.#prefix };
    try {
      const { Uploads = [] } = await this.#client.send(new ListMultipartUploadsCommand(place));
      for (const { Key, UploadId, Initiated } of Uploads) {
        if (Initiated === undefined || Initiated.getTime() / 1000 >= before) continue;
        await this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId }));
      }
    } catch (error) {
      // Somebody who may put need not be allowed to look for these; and not every server knows them.
      if (isStatus(error, 403, 404, 501)) return;
      throw this.#error('list uploads of', '/', error);
    }
  }

  close(): void {
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
    await this.#client.send(new PutObjectCommand({ ...input, Body }));
  }

  async #sendParts(input: PutObjectCommandInput, file: string, length: number): Promise<void> {
    const partSize = partLengthFor(length);
    const params = { ...input, Body: createReadStream(file, { highWaterMark: 1024 * 1024 }) };
    await new Upload({ client: this.#client, params, partSize, queueSize: PARTS_IN_FLIGHT }).done();
  }

  #place(path: string): { Bucket: string; Key: string } {
    checkTargetPath(path);
    const Key = this.#prefix + path.slice(1);
    if (Buffer.byteLength(Key) > MAXIMUM_KEY)
      throw new StorageError('target-path', `${path} is too long for a bucket: at most ${MAXIMUM_KEY} bytes`);
    return { Bucket: this.#bucket, Key };
  }

  async #find<Found>(
    doing: string,
    path: string,
    work: (place: { Bucket: string; Key: string }) => Promise<Found>,
  ): Promise<Found | undefined> {
    try {
      return await work(this.#place(path));
    } catch (error) {
      if (isStatus(error, 404) && nameOf(error) !== 'NoSuchBucket') return undefined;
      throw this.#error(doing, path, error);
    }
  }

  #error(doing: string, path: string, error: unknown): StorageError {
    if (error instanceof StorageError) return error;
    const message = `cannot ${doing} ${path} in ${this.name}: ${describe(error)}`;
    return new StorageError(codeOf(error), message, { cause: error, ...hintOf(error) });
  }
}

/** Servers other than Amazon's are reached by path, and are asked for no more checksums than the protocol demands. */
function clientConfiguration(environment: NodeJS.ProcessEnv): S3ClientConfig {
  const endpoint = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
  const foreign = endpoint !== undefined && !/\.amazonaws\.com(?:\.cn)?(?::\d+)?\/?$/.test(endpoint);
  const region = environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION;
  return {
    maxAttempts: 5,
    requestHandler: {
      connectionTimeout: 10_000,
      requestTimeout: 120_000,
      httpAgent: { maxSockets: CONNECTIONS },
      httpsAgent: { maxSockets: CONNECTIONS },
    },
    ...(region !== undefined && { region }),
    ...(foreign && {
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(region === undefined && { region: 'us-east-1' }),
    }),
  };
}

function stored(path: string, length: number, modified: Date | undefined, etag: string): StoredFile {
  const digest = etag.replaceAll('"', '');
  return { path, length, modified: (modified?.getTime() ?? 0) / 1000, tag: etag, digest };
}

async function lengthOf(source: Source): Promise<number> {
  return source instanceof Uint8Array ? source.length : (await stat(source.file)).size;
}

function partLengthFor(length: number): number {
  return Math.max(PART_LENGTH, Math.ceil(length / MAXIMUM_PARTS));
}

/** The entity tag of what {@link S3Target} would send. */
async function expectedTag(source: Source, length: number): Promise<string> {
  if (source instanceof Uint8Array) return md5(source).toString('hex');
  if (length <= PART_LENGTH) return md5(await readFile(source.file)).toString('hex');
  const parts: Buffer[] = [];
  const partLength = partLengthFor(length);
  await using handle = await open(source.file);
  const part = Buffer.alloc(partLength);
  for (let at = 0; at < length; at += partLength) {
    const { bytesRead } = await handle.read(part, 0, Math.min(partLength, length - at), at);
    parts.push(md5(part.subarray(0, bytesRead)));
  }
  return `${md5(Buffer.concat(parts)).toString('hex')}-${parts.length}`;
}

/** The protocol's own checksum; nothing is trusted for it. */
function md5(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest();
}

function conditionOf(replacing: string | null | undefined): Partial<PutObjectCommandInput> {
  if (replacing === undefined) return {};
  return replacing === null ? { IfNoneMatch: '*' } : { IfMatch: replacing };
}
