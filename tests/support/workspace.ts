/** A publisher's workspace in a temporary directory, with real keys and real files, and a reader who holds every set key. */
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { createGunzip } from 'node:zlib';
import { collect } from '../../core/encoding/byte-reader.ts';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { openCarrier } from '../../core/object/carrier.ts';
import { type OpenedDocument, openDocument, type SetKey } from '../../core/object/document-reader.ts';
import type { ConfigurationInput } from '../../publisher/configuration/schema.ts';
import { initWorkspace } from '../../publisher/init.ts';
import { type OpenKeyStore, openKeyStore } from '../../publisher/keys/key-store.ts';
import { listFiles } from '../../publisher/list-files.ts';
import { type ProtectOptions, protectSite } from '../../publisher/protect/protect.ts';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';

export const PASSPHRASE = 'correct horse battery staple';
export const SITE = 'news.example';

export interface TestWorkspace {
  readonly directory: string;
  readonly source: string;
  readonly out: string;
  readonly configurationFile: string;
  /** Writes a file of the source. */
  readonly write: (path: string, content: string | Uint8Array) => Promise<void>;
  readonly protect: (options?: Partial<ProtectOptions>) => Promise<ProtectSummary>;
  readonly keyStore: () => Promise<OpenKeyStore>;
  /** Opens a document of the output as a reader does who holds every key; asks for files as for URLs. */
  readonly open: (path: string) => Promise<OpenedDocument>;
  /** The content of a document, with its coding undone. */
  readonly read: (path: string) => Promise<Buffer>;
  readonly remove: () => Promise<void>;
}

export async function createWorkspace(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  settings: Partial<ConfigurationInput> = {},
): Promise<TestWorkspace> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'wispr-publisher-')));
  const { workspace } = await initWorkspace({ directory, url: `http://${SITE}`, passphrase: PASSPHRASE, settings });
  const source = join(directory, settings.source ?? 'site');
  const out = join(directory, settings.out ?? 'protected');
  const write = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(source, path)), { recursive: true });
    await writeFile(join(source, path), content);
  };
  await mkdir(source, { recursive: true });
  for (const [path, content] of Object.entries(files)) await write(path, content);
  const configurationFile = workspace.configuration;
  const keyStore = memoised(
    () => readFile(workspace.keyStore),
    (bytes) => openKeyStore(bytes, PASSPHRASE),
  );
  const open = async (path: string) => openFrom(out, path, await keyStore());
  return {
    directory,
    source,
    out,
    configurationFile,
    write,
    protect: (options) => protectSite({ configurationFile, passphrase: PASSPHRASE, ...options }),
    keyStore,
    open,
    read: async (path) => contentOf(await open(path)),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Does `work` again only where its input changed: a password hash takes half a second. */
function memoised<Result>(
  input: () => Promise<Buffer>,
  work: (input: Buffer) => Promise<Result>,
): () => Promise<Result> {
  let last: { input: Buffer; result: Promise<Result> } | undefined;
  return async () => {
    const current = await input();
    if (!last?.input.equals(current)) last = { input: current, result: work(current) };
    return last.result;
  };
}

async function openFrom(out: string, path: string, { contents, publisher }: OpenKeyStore): Promise<OpenedDocument> {
  const keys = new Map<string, SetKey>();
  for (const key of contents.sets.values())
    keys.set(await keyIdOf('set', key), { key, notBefore: 0, notAfter: 2 ** 40 });
  const context = { findKey: async (id: string) => keys.get(id), now: 1 };
  const [beside, itself] = [join(out, `${path}.protected`), join(out, path)];
  const object = createReadStream(existsSync(beside) ? beside : itself) as AsyncIterable<Uint8Array>;
  const expected = { site: SITE, path, publisherKey: publisher.publicKey };
  return openDocument(openCarrier(object), expected, context, async () => createReadStream(itself));
}

async function contentOf({ content, metadata }: OpenedDocument): Promise<Buffer> {
  const bytes = Buffer.from(await collect(content));
  if (metadata.contentCoding === undefined) return bytes;
  const decoder = createGunzip();
  decoder.end(bytes);
  return Buffer.from(await collect(decoder as AsyncIterable<Uint8Array>));
}

/** Every file below `directory` whose name is UTF-8, with its content, so that two states can be compared. */
export async function snapshot(directory: string): Promise<Map<string, string>> {
  const named = (await listFiles(directory)).filter((entry) => entry.isFile() && !entry.name.includes('\ufffd'));
  const files = named.map((entry) => join(entry.parentPath, entry.name));
  const pairs = files.sort().map(async (file): Promise<[string, string]> => {
    return [relative(directory, file), await readFile(file, 'base64')];
  });
  return new Map(await Promise.all(pairs));
}
