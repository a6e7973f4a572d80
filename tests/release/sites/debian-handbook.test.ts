/** The Debian Administrator's Handbook: thousands of pages and pictures in 26 languages. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completeLog, differences, pathsAsked, publishWholeSite, type WholeSite } from './whole-site.ts';

const PACKAGE = '/usr/share/doc/debian-handbook';
/** In milliseconds. */
const MINUTE = 60_000;
const LANGUAGES = ['en-US', 'fr-FR', 'ja-JP'];

const folder = await mkdtemp(join(tmpdir(), 'wispr-handbook-'));
const source = join(folder, 'site');
let site: WholeSite;

beforeAll(async () => {
  await cp(PACKAGE, source, { recursive: true, dereference: true });
  site = await publishWholeSite({
    site: 'handbook.example',
    source,
    // An audience for each of three languages, and one for everything else.
    sets: LANGUAGES.map((language) => ({ name: language, path: `html/${language}/**` })),
    public: ['copyright'],
  });
}, 2 * MINUTE);
afterAll(async () => {
  await site?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the Debian handbook', () => {
  test('is protected whole', async () => {
    const { documents, sets } = site.protection;
    expect(documents).toBe((await site.paths()).length);
    expect(documents).toBeGreaterThan(5000);
    expect(sets.map(({ name }) => name).sort()).toEqual([...LANGUAGES, 'subscribers'].sort());
  });

  test(
    'comes back whole through Squid and Varnish, and for a second reader its host is not asked again',
    async () => {
      const { nginx, squid } = site;
      const [paths, urlPaths] = [await site.paths(), await site.urlPaths()];
      const first = await site.readAll(await site.addReader('ada', squid));
      expect(differences(first)).toEqual([]);
      expect(first.outcomes.length).toBe(paths.length);
      expect(pathsAsked(await completeLog(nginx, urlPaths.length))).toEqual(urlPaths);
      expect(pathsAsked(await completeLog(squid, urlPaths.length))).toEqual(urlPaths);

      const second = await site.readAll(await site.addReader('ben', squid));
      expect(differences(second)).toEqual([]);
      const again = (await completeLog(squid, 2 * urlPaths.length)).slice(urlPaths.length);
      expect(pathsAsked(again)).toEqual(urlPaths);
      expect(again.filter(({ hit }) => !hit)).toEqual([]);
      expect((await completeLog(nginx, urlPaths.length)).length).toBe(urlPaths.length);
    },
    4 * MINUTE,
  );

  test(
    'is published twice more with changes, and comes back whole each time through Varnish',
    async () => {
      const english = (name: string) => join(source, 'html/en-US', name);
      const before = (await site.paths()).length;
      await writeFile(english('apt.html'), `${await readFile(english('apt.html'), 'utf8')}<!-- corrected -->`);
      await writeFile(english('added.html'), '<!doctype html><title>Added</title><p>A new chapter.');
      await rm(english('sect.apt-get.html'));
      expect(await publishAndRead('cleo')).toMatchObject({ added: 1, changed: 1, removed: 1, unchanged: before - 2 });

      await cp(english('images'), english('pictures'), { recursive: true });
      await rm(english('added.html'));
      const { added, removed, changed } = await publishAndRead('dora');
      expect([added > 0, removed, changed]).toEqual([true, 1, 0]);
    },
    6 * MINUTE,
  );
});

/** Publishes, and reads everything as a new reader in another office. */
async function publishAndRead(name: string): Promise<WholeSite['protection']['changes']> {
  const { changes } = await site.publishAgain();
  const report = await site.readAll(await site.addReader(name, await site.startSquid()));
  expect(differences(report)).toEqual([]);
  expect(report.outcomes.length).toBe((await site.paths()).length);
  return changes;
}
