/**
 * A whole site on its way to its readers, every part of it real: publisher, key server, nginx, Varnish in front of it, Squid as the forward
 * cache of an office, and one Reader for each person. Used with trees of thousands of files.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect } from 'vitest';
import { type CacheServer, type LogLine, startNginx, startSquid, startVarnish } from '../../../cache-config/servers.ts';
import { contentTargetOf, headTargetOf, targetUrlPath } from '../../../core/publication/names.ts';
import type { RunningKeyServer } from '../../../keyserver/server.ts';
import { nowInSeconds } from '../../../node-support/clock.ts';
import type { ProtectSummary } from '../../../publisher/protect/summary.ts';
import { type Outcome, type ReadingReport, readSite } from '../../../serve/reading.ts';
import type { SiteSettings } from '../../../serve/site.ts';
import { type Person, World } from '../../../serve/world.ts';
import { readPublished } from '../../support/published.ts';

/** Longer than any test, so that no cache asks again because of the time. */
const MAX_AGE_SECONDS = 86_400;
/** More than any of the trees: what is asked twice is asked twice for another reason than room. */
const MEMORY_MEGABYTES = 512;
/** Under load, Squid drops what its disk does not take in time; memory takes everything. */
const DISK_MEGABYTES = 0;

export interface WholeSite {
  readonly protection: ProtectSummary;
  readonly nginx: CacheServer;
  readonly varnish: CacheServer;
  readonly squid: CacheServer;
  /** The path of every document, found by looking at the source and at nothing that wispr made. */
  paths(): Promise<string[]>;
  /** What a host is asked once every document has been read: the URL path of each object, and of each public content. */
  urlPaths(): Promise<string[]>;
  /** Publishes what has changed in the source. */
  publishAgain(): Promise<ProtectSummary>;
  /** A Squid of its own in front of the same Varnish: another office. */
  startSquid(): Promise<CacheServer>;
  /** A subscriber with a Reader behind a Squid. */
  addReader(name: string, squid: CacheServer): Promise<Person>;
  /** Reads every document through a person's Reader, or those that are named, and compares each with its file. */
  readAll(reader: Person, documents?: readonly string[]): Promise<ReadingReport>;
  close(): Promise<void>;
}

/** Protects and publishes a whole directory. */
export async function publishWholeSite(settings: SiteSettings): Promise<WholeSite> {
  const world = await World.create(settings);
  const servers: CacheServer[] = [];
  const close = async () => {
    await world.close();
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    return await startWholeSite(world, settings, servers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function startWholeSite(
  world: World,
  settings: SiteSettings,
  servers: CacheServer[],
  close: () => Promise<void>,
): Promise<WholeSite> {
  const started = <Server extends CacheServer>(server: Server) => {
    servers.push(server);
    return server;
  };
  const { site, source } = settings;
  const keyServer = await world.startKeyServer();
  await mkdir(world.out);
  const host = { root: world.out, readingOrigin: keyServer.readingUrl, maxAgeSeconds: MAX_AGE_SECONDS };
  const nginx = started(await startNginx(host));
  const varnish = started(await startVarnish({ backend: nginx, memoryMegabytes: MEMORY_MEGABYTES }));
  const startOffice = async () => {
    const room = { memoryMegabytes: MEMORY_MEGABYTES, diskMegabytes: DISK_MEGABYTES };
    const sites = [{ site, host: varnish.host, port: varnish.port }];
    return started(await startSquid({ ...room, sites, connectLoopback: true }));
  };
  const squid = await startOffice();
  // Readers ask for the site by its name, as they would in the world; the office's Squid knows where it is.
  const { protection } = await world.publish(keyServer, `http://${site}`);
  const paths = () => documentsOf(source);
  return {
    protection,
    nginx,
    varnish,
    squid,
    paths,
    urlPaths: () => askedFor(world.out, site),
    publishAgain: () => world.publishAgain(),
    startSquid: startOffice,
    addReader: (name, office) => addReader(world, name, keyServer, office),
    readAll: async ({ proxy }, documents) =>
      readSite({ proxy: proxy.url, site, source, paths: documents ?? (await paths()) }),
    close,
  };
}

function addReader(world: World, name: string, keyServer: RunningKeyServer, squid: CacheServer): Promise<Person> {
  const cache = { name: squid.name, kind: 'forward', url: squid.url, stop: async () => undefined } as const;
  return world.addReader(name, keyServer, cache);
}

async function documentsOf(source: string): Promise<string[]> {
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => `/${relative(source, join(entry.parentPath, entry.name))}`)
    .sort();
}

/** By what the publication says, verified as a reader verifies it. */
async function askedFor(out: string, site: string): Promise<string[]> {
  const { paths, entry } = await readPublished(out, { site, keys: new Map(), now: nowInSeconds() });
  const files = await Promise.all(
    paths.map(async (path) => {
      const { head, content } = await entry(path);
      const object = targetUrlPath(headTargetOf(path), head);
      return content === undefined ? [object] : [object, targetUrlPath(contentTargetOf(path), content)];
    }),
  );
  return files.flat().sort();
}

/** The documents that did not come back byte for byte: none, if all is well. */
export function differences({ outcomes }: ReadingReport): Outcome[] {
  return outcomes.filter(({ same }) => !same);
}

/** A server logs a request shortly after it answered: its log of documents' files, once it holds as many lines. */
export async function completeLog(server: CacheServer, lines: number): Promise<LogLine[]> {
  const log = async () => (await server.requests()).filter((line) => !pathOf(line).startsWith('/.well-known/'));
  await expect.poll(async () => (await log()).length).toBeGreaterThanOrEqual(lines);
  return log();
}

/** The paths that were asked for, each as often as it was. */
export function pathsAsked(log: readonly LogLine[]): string[] {
  return log.map(pathOf).sort();
}

function pathOf({ url }: LogLine): string {
  return url.startsWith('/') ? url : new URL(url).pathname;
}
