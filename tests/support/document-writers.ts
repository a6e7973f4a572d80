/** Writers of documents at work in a temporary directory, and a reader of what they write. */
import { createReadStream, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { collect } from '../../core/encoding/byte-reader.ts';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { openCarrier } from '../../core/object/carrier.ts';
import type { Metadata } from '../../core/object/metadata.ts';
import { openDocument } from '../../core/object/open-document.ts';
import { publisherIdentity } from '../../core/object/writer.ts';
import { contentFile, objectFile } from '../../publisher/protect/writers/files.ts';
import type { WriteTask, WrittenDocument } from '../../publisher/protect/writers/jobs.ts';
import { DocumentWriters } from '../../publisher/protect/writers/writers.ts';
import { identityOf, type SourceFile } from '../../publisher/site/walk.ts';

/** A file, as the walk over a site finds it. */
function sourceAt(path: string, file: string): SourceFile {
  const stats = statSync(file, { bigint: true });
  const lastModified = Number(stats.mtimeNs / 1_000_000_000n);
  return { path, file, size: Number(stats.size), lastModified, identity: identityOf(stats) };
}

const SITE = 'news.example';

export interface ReadDocument {
  readonly metadata: Metadata;
  /** With its coding undone. */
  readonly content: Buffer;
}

export class WritersRig implements AsyncDisposable {
  readonly directory: string;
  readonly out: string;
  readonly set: string;
  readonly #key: Uint8Array;
  readonly #publisher: Awaited<ReturnType<typeof publisherIdentity>>;
  readonly #writers: DocumentWriters[] = [];

  private constructor(directory: string, key: Uint8Array, set: string, publisher: WritersRig['publisher']) {
    this.directory = directory;
    this.out = join(directory, 'out');
    this.#key = key;
    this.set = set;
    this.#publisher = publisher;
  }

  static async create(): Promise<WritersRig> {
    const key = randomBytes(32);
    const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
    const directory = await mkdtemp(join(tmpdir(), 'wispr-writers-'));
    await mkdir(join(directory, 'out'));
    return new WritersRig(directory, key, await keyIdOf('set', key), publisher);
  }

  get publisher() {
    return this.#publisher;
  }

  /** Fresh writers, as the next run would start them. */
  start(options: { signal?: AbortSignal; publisher?: WritersRig['publisher'] } = {}): DocumentWriters {
    const { publisher = this.#publisher, signal } = options;
    const sets = new Map([[this.set, this.#key]]);
    const writers = new DocumentWriters({ out: this.out, site: SITE, publisher, sets }, signal);
    this.#writers.push(writers);
    return writers;
  }

  /** Writes a source file, and says how it is to be written. */
  async task(path: string, content: string | Uint8Array, wish: Partial<WriteTask> = {}): Promise<WriteTask> {
    const file = join(this.directory, 'site', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    const source = sourceAt(path, file);
    const mediaType = path.endsWith('.txt') ? 'text/plain' : 'application/octet-stream';
    return { path, source, mediaType, compress: true, set: this.set, padding: false, carrier: 'beside', ...wish };
  }

  /** Opens what was written, as a reader does. */
  async read(task: WriteTask, written: Pick<WrittenDocument, 'head' | 'content'>): Promise<ReadDocument> {
    const { path } = task;
    const object =
      task.carrier === 'html'
        ? openCarrier(createReadStream(join(this.out, path)))
        : createReadStream(objectFile(this.out, path, written.head));
    const opened = await openDocument(
      object,
      { site: SITE, path, publisherKey: this.#publisher.publicKey },
      { findKey: async () => ({ key: this.#key, notBefore: 0, notAfter: 1 }), now: 0 },
      async () => createReadStream(contentFile(this.out, path, written.content ?? '')),
    );
    const content = Buffer.from(await collect(opened.content));
    return { metadata: opened.metadata, content: opened.metadata.contentCoding ? gunzipSync(content) : content };
  }

  /** The object of a document, whole. */
  object(path: string, head: string): Promise<Buffer> {
    return readFile(objectFile(this.out, path, head));
  }

  /** Names of all files of the output. */
  async files(): Promise<string[]> {
    const entries = await readdir(this.out, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#writers.map((writers) => writers.close()));
    await rm(this.directory, { recursive: true, force: true });
  }
}
