/** The sites that are read: each in clear, with its text compressed as servers do that, and protected; both with a cache before them. */
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { freePort } from '../../cache-config/child.ts';
import { chooseSite, type SiteSettings } from '../../serve/site.ts';
import { type Person, World } from '../../serve/world.ts';
import type { Chain } from '../../tests/support/certificates.ts';
import { startCounter } from '../../tests/support/link-counter.ts';
import { type Origin, startOrigin } from './origin.ts';
import { pagesOf } from './pages.ts';
import type { SiteFacts } from './setting.ts';

const PYTHON = '/usr/share/doc/python3.11/html';
const TEXT = new Set(['.html', '.css', '.js', '.svg', '.txt', '.json', '.xml', '.csv']);
const compress = promisify(gzip);

export interface ReadSite extends SiteFacts {
  readonly host: string;
  readonly clear: Origin;
  readonly protected: Origin;
  readonly rootId: string;
  /** Folder of the protected site. */
  readonly out: string;
  /** Bytes that key server and reading site have sent since the last call. */
  takeFromKeyServer(): number;
  /** A real Reader of it, connected. */
  addReader(): Promise<Person>;
}

export interface SiteSource {
  readonly name: string;
  readonly short: string;
  readonly write: (folder: string) => Promise<SiteSettings>;
}

export const SITES: readonly SiteSource[] = [
  {
    name: 'the example newspaper',
    short: 'newspaper',
    write: async (source) => {
      const settings = await chooseSite();
      await cp(settings.source ?? '', source, { recursive: true });
      return { ...settings, source };
    },
  },
  {
    name: "Python's documentation",
    short: 'python',
    write: async (source) => {
      await cp(PYTHON, source, { recursive: true, dereference: true });
      return { site: 'docs.example', source, public: ['index.html', '_static/**', '_images/**'] };
    },
  },
];

/** @param folder - of its own, which must not be there yet */
export async function openSite(
  { name, short, write }: SiteSource,
  folder: string,
  chain: Chain,
  endings: AsyncDisposableStack,
): Promise<ReadSite> {
  const [source, clear] = [join(folder, 'source'), join(folder, 'clear')];
  await mkdir(source, { recursive: true });
  const settings = await write(source);
  endings.defer(() => rm(folder, { recursive: true, force: true }));
  await cp(source, clear, { recursive: true });
  await compressTexts(clear);
  const world = await World.create(settings);
  endings.defer(() => world.close());
  const { config, counters } = await countedKeyServer(endings);
  const keyServer = await world.startKeyServer(true, config);
  await mkdir(world.out, { recursive: true });
  const origin = await startOrigin(world.out, chain, endings);
  const { made } = await world.publish(keyServer, origin.squid.url);
  return {
    ...{ name, short, host: settings.site, pages: await pagesOf(source), bytes: await bytesOf(world.out) },
    clear: await startOrigin(clear, chain, endings),
    protected: origin,
    rootId: made.publisher,
    out: world.out,
    takeFromKeyServer: () => counters.reduce((sum, { take }) => sum + take().down, 0),
    addReader: () => world.addReader('ada', keyServer, undefined),
  };
}

/** Settings of a key server whose bytes are counted. */
async function countedKeyServer(endings: AsyncDisposableStack) {
  const counted = async () => {
    const listen = { host: '127.0.0.1', port: await freePort() };
    const counter = await startCounter(listen.port);
    endings.defer(counter.close);
    return { counter, settings: { listen, origin: `http://127.0.0.1:${counter.port}` } };
  };
  const [api, reading] = [await counted(), await counted()];
  const documents = { listen: { host: '127.0.0.1', port: 0 } };
  const config = { ...api.settings, reading: { ...reading.settings, documents } };
  return { config, counters: [api.counter, reading.counter] };
}

/** Compresses texts in place: a server that compresses sends these bytes. */
async function compressTexts(folder: string): Promise<void> {
  for (const file of await filesOf(folder))
    if (TEXT.has(extname(file))) await writeFile(file, await compress(await readFile(file)));
}

async function bytesOf(folder: string): Promise<number> {
  const sizes = await Promise.all((await filesOf(folder)).map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
