/** The documentation of Python, read by readers of two offices in three editions: large pages, and two links that lead out of the tree, as Debian packages have. */
import { cp, lstat, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { throughProxy } from '../../../serve/reading.ts';
import { type Person, World } from '../../../serve/world.ts';
import { completeLog, differences, pathsAsked, publishWholeSite, type WholeSite } from './whole-site.ts';

const PACKAGE = '/usr/share/doc/python3.11/html';
/** In milliseconds. */
const MINUTE = 60_000;

const folder = await mkdtemp(join(tmpdir(), 'wispr-python-doc-'));
const source = join(folder, 'html');
let site: WholeSite;
let ada: Person;

beforeAll(async () => {
  await cp(PACKAGE, source, { recursive: true, dereference: true });
  site = await publishWholeSite({ site: 'docs.example', source, public: ['index.html', '_static/**', '_images/**'] });
  ada = await site.addReader('ada', site.squid);
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
    onTestFinished(() => world.close());
    const keyServer = await world.startKeyServer();
    const refusal = await world.publish(keyServer, 'http://docs.example').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'source-refused' });
    for (const link of links) expect((refusal as Error).message).toContain(`/${link}`);
    await expect(lstat(world.out)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is protected whole once the links are resolved', async () => {
    const { documents, ignored } = site.protection;
    expect(documents).toBe((await site.paths()).length);
    expect(documents).toBeGreaterThan(1000);
    expect(ignored).toBe(1); // .buildinfo
    const paths = await site.paths();
    for (const link of await linksIn(PACKAGE)) expect(paths).toContain(`/${link}`);
  });

  test(
    'comes back whole through Squid and Varnish',
    async () => {
      const { nginx, varnish, squid } = site;
      const [paths, urlPaths] = [await site.paths(), await site.urlPaths()];
      const report = await site.readAll(ada);
      expect(differences(report)).toEqual([]);
      expect(report.outcomes.length).toBe(paths.length);
      for (const server of [nginx, varnish, squid])
        expect(pathsAsked(await completeLog(server, urlPaths.length))).toEqual(urlPaths);
    },
    MINUTE,
  );

  test(
    'in the same office the host is not asked again',
    async () => {
      const { nginx, varnish, squid } = site;
      const urlPaths = await site.urlPaths();
      expect(differences(await site.readAll(await site.addReader('ben', squid)))).toEqual([]);
      const again = (await completeLog(squid, 2 * urlPaths.length)).slice(urlPaths.length);
      expect(pathsAsked(again)).toEqual(urlPaths);
      expect(again.filter(({ hit }) => !hit)).toEqual([]);
      for (const server of [nginx, varnish])
        expect((await completeLog(server, urlPaths.length)).length).toBe(urlPaths.length);
    },
    MINUTE,
  );

  test(
    'in another office Varnish answers, and the host is still not asked again',
    async () => {
      const { nginx, varnish } = site;
      const urlPaths = await site.urlPaths();
      expect(differences(await site.readAll(await site.addReader('cleo', await site.startSquid())))).toEqual([]);
      const answered = (await completeLog(varnish, 2 * urlPaths.length)).slice(urlPaths.length);
      expect(pathsAsked(answered)).toEqual(urlPaths);
      expect(answered.filter(({ hit }) => !hit)).toEqual([]);
      expect((await completeLog(nginx, urlPaths.length)).length).toBe(urlPaths.length);
    },
    MINUTE,
  );

  test(
    'changes for a reader at the next look, and what was removed is gone',
    async () => {
      const about = join(source, 'about.html');
      await writeFile(about, (await readFile(about, 'utf8')).replace('<body', '<body data-edition="2"'));
      await rm(join(source, 'bugs.html'));
      await rename(join(source, 'copyright.html'), join(source, 'rights.html'));
      const { changes } = await site.publishAgain();
      expect(changes).toMatchObject({ changed: 1, removed: 2, added: 1 });
      const look = async () => {
        await ada.proxy.check();
        return differences(await site.readAll(ada, ['/about.html', '/rights.html']));
      };
      await expect.poll(look, { timeout: 2 * MINUTE, interval: 1000 }).toEqual([]);
      expect(await statusOf(ada, '/bugs.html')).toBe(404);
      expect(differences(await site.readAll(ada))).toEqual([]);
    },
    4 * MINUTE,
  );

  test(
    'is signed anew where a document becomes public, and a new reader can read it',
    async () => {
      const page = join(source, 'about.html');
      await writeFile(
        page,
        (await readFile(page, 'utf8')).replace('<head>', '<head><meta name="wispr-set" content="public">'),
      );
      const { changes } = await site.publishAgain();
      expect(changes).toMatchObject({ moved: 1, removed: 0, added: 0 });
      const finn = await site.addReader('finn', await site.startSquid());
      const paths = await site.paths();
      const report = await site.readAll(finn, paths);
      expect(differences(report)).toEqual([]);
      expect(report.outcomes.length).toBe(paths.length);
    },
    2 * MINUTE,
  );
});

async function statusOf({ proxy }: Person, path: string): Promise<number> {
  const dispatcher = throughProxy(proxy.url);
  const { statusCode, body } = await request(`http://docs.example${path}`, { dispatcher });
  await body.dump();
  await dispatcher.close();
  return statusCode;
}

/** Symbolic links, as paths inside the directory. */
async function linksIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
}
