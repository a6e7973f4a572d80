/**
 * The documentation of Python, some thousand files, on its way to the readers of two offices, every part of it real: publisher, key server, nginx, Varnish in
 * front of it, Squid as the forward cache of an office, and one Reader for each person.
 */
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CacheServer,
  type LogLine,
  startNginx,
  startSquid,
  startVarnish,
  stopAll,
} from '../../../cache-config/servers.ts';
import { contentTargetOf, headTargetOf, targetUrlPath } from '../../../core/publication/names.ts';
import type { RunningKeyServer } from '../../../keyserver/server.ts';
import { nowInSeconds } from '../../../node-support/clock.ts';
import { readSite } from '../../../serve/reading.ts';
import { World } from '../../../serve/world.ts';
import { readPublished } from '../../support/published.ts';

const PACKAGE = '/usr/share/doc/python3.11/html';
const SITE = 'docs.example';
/** Lifetime longer than any test, so that no cache asks again because of the time. */
const MAX_AGE_SECONDS = 86_400;
/** Memory for more than the tree, so that room is no reason to ask twice. */
const MEMORY_MEGABYTES = 512;
/** Squid drops, under load, what its disk does not take in time; memory takes everything. */
const DISK_MEGABYTES = 0;
/** Milliseconds. */
const MINUTE = 60_000;

const folder = await mkdtemp(join(tmpdir(), 'wispr-python-doc-'));
const source = join(folder, 'html');
let world: World;
let keyServer: RunningKeyServer;
let protection: Awaited<ReturnType<World['publish']>>['protection'];
let nginx: CacheServer;
let varnish: CacheServer;
let squid: CacheServer;
/** Documents, found by looking at the source and at nothing that wispr made. */
let paths: string[];
/** URL paths that a host is asked for until every document has been read. */
let urlPaths: string[];

beforeAll(async () => {
  // Files that two links of the package lead to are among them.
  await cp(PACKAGE, source, { recursive: true, dereference: true });
  world = await World.create({ site: SITE, source, public: ['index.html', '_static/**', '_images/**'] });
  keyServer = await world.startKeyServer();
  await mkdir(world.out);
  const host = { root: world.out, readingOrigin: keyServer.readingUrl, maxAgeSeconds: MAX_AGE_SECONDS };
  nginx = await startNginx(host);
  varnish = await startVarnish({ backend: nginx, memoryMegabytes: MEMORY_MEGABYTES });
  squid = await startOffice();
  // Readers ask for the site by its name, as they would in the world; the office's Squid knows where it is.
  ({ protection } = await world.publish(keyServer, `http://${SITE}`));
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  paths = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => `/${relative(source, join(entry.parentPath, entry.name))}`)
    .sort();
  urlPaths = await askedFor();
}, 2 * MINUTE);
afterAll(async () => {
  await world?.close();
  await stopAll();
  await rm(folder, { recursive: true, force: true });
});

/** A Squid of its own in front of the same Varnish. */
function startOffice(): Promise<CacheServer> {
  const room = { memoryMegabytes: MEMORY_MEGABYTES, diskMegabytes: DISK_MEGABYTES };
  const sites = [{ site: SITE, host: varnish.host, port: varnish.port }];
  return startSquid({ ...room, sites, connectLoopback: true });
}

/** Judged by what the publication says, verified as a reader verifies it. */
async function askedFor(): Promise<string[]> {
  const published = await readPublished(world.out, { site: SITE, keys: new Map(), now: nowInSeconds() });
  const files = await Promise.all(
    published.paths.map(async (path) => {
      const { head, content } = await published.entry(path);
      const object = targetUrlPath(headTargetOf(path), head);
      return content === undefined ? [object] : [object, targetUrlPath(contentTargetOf(path), content)];
    }),
  );
  return files.flat().sort();
}

/** Lets a new subscriber behind a Squid read every document, and compares each with its file. */
async function expectAllRead(name: string, office: CacheServer): Promise<void> {
  const cache = { name: office.name, kind: 'forward', url: office.url, stop: async () => undefined } as const;
  const { proxy } = await world.addReader(name, keyServer, cache);
  const { outcomes } = await readSite({ proxy: proxy.url, site: SITE, source, paths });
  expect(outcomes.filter(({ same }) => !same)).toEqual([]);
  expect(outcomes.length).toBe(paths.length);
}

/** A server logs a request shortly after it answered: its log of documents' files, once it holds as many lines. */
async function completeLog(server: CacheServer, lines: number): Promise<LogLine[]> {
  const log = async () => (await server.requests()).filter((line) => !pathOf(line).startsWith('/.well-known/'));
  await expect.poll(async () => (await log()).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(lines);
  return log();
}

/** Insists that a server has answered everything once more, out of what it keeps. */
async function expectHits(server: CacheServer): Promise<void> {
  const again = (await completeLog(server, 2 * urlPaths.length)).slice(urlPaths.length);
  expect(again.map(pathOf).sort()).toEqual(urlPaths);
  expect(again.filter(({ hit }) => !hit)).toEqual([]);
}

function pathOf({ url }: LogLine): string {
  return url.startsWith('/') ? url : new URL(url).pathname;
}

describe('the documentation of Python', { timeout: MINUTE }, () => {
  test('is protected whole', () => {
    expect(protection).toMatchObject({ documents: paths.length, ignored: 1 }); // .buildinfo
    expect(paths.length).toBeGreaterThan(1000);
  });

  test('comes back whole through Squid and Varnish', async () => {
    await expectAllRead('ada', squid);
    for (const server of [nginx, varnish, squid])
      expect((await completeLog(server, urlPaths.length)).map(pathOf).sort()).toEqual(urlPaths);
  });

  test('in the same office the host is not asked again', async () => {
    await expectAllRead('ben', squid);
    await expectHits(squid);
    for (const server of [nginx, varnish])
      expect(await completeLog(server, urlPaths.length)).toHaveLength(urlPaths.length);
  });

  test('in another office Varnish answers, and the host is still not asked again', async () => {
    await expectAllRead('cleo', await startOffice());
    await expectHits(varnish);
    expect(await completeLog(nginx, urlPaths.length)).toHaveLength(urlPaths.length);
  });
});
