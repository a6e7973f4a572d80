/** The documentation of Python, whole: large pages, and two links that lead out of the tree, as Debian packages have. */
import { cp, lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { World } from '../../demo/world.ts';
import { completeLog, differences, pathsAsked, publishWholeSite, type WholeSite } from './whole-site.ts';

const PACKAGE = '/usr/share/doc/python3.11/html';
/** In milliseconds. */
const MINUTE = 60_000;

const folder = await mkdtemp(join(tmpdir(), 'wispr-python-doc-'));
const source = join(folder, 'html');
let site: WholeSite;

beforeAll(async () => {
  await cp(PACKAGE, source, { recursive: true, dereference: true });
  site = await publishWholeSite({ site: 'docs.example', source, public: ['index.html', '_static/**', '_images/**'] });
}, 2 * MINUTE);
afterAll(async () => {
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the documentation of Python', () => {
  test('is refused as the package has it: each link that leaves the tree is named, and nothing is written', async () => {
    const links = await linksIn(PACKAGE);
    expect(links.length).toBeGreaterThan(0);
    const world = await World.create({ site: 'docs.example', source: PACKAGE });
    try {
      const keyServer = await world.startKeyServer();
      const refusal = await world.publish(keyServer, 'http://docs.example').catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'source-refused' });
      for (const link of links) expect((refusal as Error).message).toContain(`/${link}`);
      await expect(lstat(world.out)).rejects.toMatchObject({ code: 'ENOENT' });
    } finally {
      await world.close();
    }
  });

  test('is protected whole once the links are resolved', async () => {
    const { documents, ignored } = site.protection;
    expect(documents).toBe(site.paths.length);
    expect(documents).toBeGreaterThan(1000);
    expect(ignored).toBe(1); // .buildinfo
    for (const link of await linksIn(PACKAGE)) expect(site.paths).toContain(`/${link}`);
  });

  test(
    'comes back whole through Squid and Varnish, and for a second reader its host is not asked again',
    async () => {
      const { nginx, varnish, squid, urlPaths, paths } = site;
      const first = await site.readAll(await site.addReader('ada', squid));
      expect(differences(first)).toEqual([]);
      expect(first.outcomes.length).toBe(paths.length);
      for (const server of [nginx, varnish, squid])
        expect(pathsAsked(await completeLog(server, urlPaths.length))).toEqual(urlPaths);

      const second = await site.readAll(await site.addReader('ben', squid));
      expect(differences(second)).toEqual([]);
      const again = (await completeLog(squid, 2 * urlPaths.length)).slice(urlPaths.length);
      expect(pathsAsked(again)).toEqual(urlPaths);
      expect(again.filter(({ hit }) => !hit)).toEqual([]);
      for (const server of [nginx, varnish]) expect((await server.requests()).length).toBe(urlPaths.length);
    },
    MINUTE,
  );

  test(
    'for a reader in another office Varnish answers, and its host is still not asked again',
    async () => {
      const { nginx, varnish, urlPaths } = site;
      const office = await site.startSquid();
      const third = await site.readAll(await site.addReader('cleo', office));
      expect(differences(third)).toEqual([]);
      const answered = (await completeLog(varnish, 2 * urlPaths.length)).slice(urlPaths.length);
      expect(pathsAsked(answered)).toEqual(urlPaths);
      expect(answered.filter(({ hit }) => !hit)).toEqual([]);
      expect((await nginx.requests()).length).toBe(urlPaths.length);
    },
    MINUTE,
  );
});

/** Symbolic links, as paths inside the directory. */
async function linksIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
}
