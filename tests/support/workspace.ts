/** A publisher's workspace in a temporary directory, with real keys and real files, and a reader who holds every set key. */
import type { Dirent } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'jsonc-parser';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import type { OpenedDocument } from '../../core/object/document-reader.ts';
import { headTargetOf, targetFile } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { initWorkspace } from '../../publisher/init.ts';
import { type OpenKeyStore, openKeyStore } from '../../publisher/keys/key-store.ts';
import { planSite } from '../../publisher/protect/dry-run.ts';
import { type ProtectOptions, protectSite } from '../../publisher/protect/protect.ts';
import type { ProtectSummary } from '../../publisher/protect/summary.ts';
import type { ConfigurationInput } from '../../publisher/workspace/configuration/schema.ts';
import { CHEAP } from './cheap-keys.ts';
import { type Published, readPublished, type TrustedStore } from './published.ts';

export const PASSPHRASE = 'correct horse battery staple';
export const SITE = 'news.example';

/** Time at which a reader looks, and what it trusted before. */
export interface PublishedWhen {
  readonly now?: number;
  readonly store?: TrustedStore;
}

export interface TestWorkspace {
  readonly directory: string;
  readonly source: string;
  readonly out: string;
  readonly configurationFile: string;
  /** Writes a file of the source. */
  readonly write: (path: string, content: string | Uint8Array) => Promise<void>;
  /** Changes members of `wispr.json`. */
  readonly configure: (settings: Partial<ConfigurationInput>) => Promise<void>;
  /** Options for commands about keys. */
  readonly keyOptions: { readonly configurationFile: string; readonly passphrase: string };
  /** A dry run. */
  readonly plan: (now?: number) => ReturnType<typeof planSite>;
  readonly protect: (options?: Partial<ProtectOptions>) => Promise<ProtectSummary>;
  readonly keyStore: () => Promise<OpenKeyStore>;
  /** The publication that is in the output, verified as by a reader who holds every key. */
  readonly published: (when?: PublishedWhen) => Promise<Published>;
  /** The file in which the object of a document lies. */
  readonly objectFile: (path: string) => Promise<string>;
  /** Opens a document of that publication. */
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
  const url = `http://${SITE}`;
  const { workspace } = await initWorkspace({ directory, url, passphrase: PASSPHRASE, settings, cost: CHEAP });
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
  const published = async (when: PublishedWhen = {}) => readOutput(out, await keyStore(), when);
  const open = async (path: string) => (await published()).open(path);
  return {
    directory,
    source,
    out,
    configurationFile,
    write,
    configure: async (changes) => {
      const before = parse(await readFile(configurationFile, 'utf8'), [], { allowTrailingComma: true }) as object;
      await writeFile(configurationFile, JSON.stringify({ ...before, ...changes }));
    },
    keyOptions: { configurationFile, passphrase: PASSPHRASE },
    plan: (now = nowInSeconds()) => planSite({ configurationFile, now }),
    protect: (options) => protectSite({ configurationFile, passphrase: PASSPHRASE, ...options }),
    keyStore,
    published,
    open,
    objectFile: async (path) => {
      const { head, inPage } = await (await published()).entry(path);
      return join(out, inPage ? path : targetFile(headTargetOf(path), head));
    },
    read: async (path) => contentOf(await open(path)),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Does `work` again only where its input changed: a password hash takes its time. */
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

async function readOutput(out: string, { contents }: OpenKeyStore, when: PublishedWhen): Promise<Published> {
  const keys = new Map<string, Uint8Array>();
  const all = [...contents.sets.values(), ...contents.kept.map(({ key }) => key)];
  for (const key of all) keys.set(await keyIdOf('set', key), key);
  return readPublished(out, { site: SITE, keys, now: nowInSeconds(), ...when });
}

/** Reads an opened document, with its coding undone. */
export async function contentOf({ content, metadata }: OpenedDocument): Promise<Buffer> {
  const bytes = Buffer.from(await collect(content));
  return metadata.contentCoding === undefined ? bytes : gunzipSync(bytes);
}

/** Reads every file below `directory` whose name is UTF-8, with its content, so that two states can be compared. */
export async function snapshot(directory: string): Promise<Map<string, string>> {
  const named = (await listFiles(directory)).filter((entry) => entry.isFile() && !entry.name.includes('\ufffd'));
  const files = named.map((entry) => join(entry.parentPath, entry.name));
  const pairs = files.sort().map(async (file): Promise<[string, string]> => {
    return [relative(directory, file), await readFile(file, 'base64')];
  });
  return new Map(await Promise.all(pairs));
}

/** Lists everything below `directory` that is no directory. `readdir` with `recursive` would follow links. */
async function listFiles(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const below = entries.map((entry) => (entry.isDirectory() ? listFiles(join(directory, entry.name)) : [entry]));
  return (await Promise.all(below)).flat();
}
