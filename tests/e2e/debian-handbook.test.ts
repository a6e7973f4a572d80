/** The Debian Administrator's Handbook, whole: thousands of pages and pictures in 26 languages. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completeLog, differences, pathsAsked, publishWholeSite, type WholeSite } from './whole-site.ts';

const SOURCE = '/usr/share/doc/debian-handbook';
/** In milliseconds. */
const MINUTE = 60_000;
const LANGUAGES = ['en-US', 'fr-FR', 'ja-JP'];

let site: WholeSite;

beforeAll(async () => {
  site = await publishWholeSite({
    site: 'handbook.example',
    source: SOURCE,
    // An audience for each of three languages, and one for all the others.
    sets: LANGUAGES.map((language) => ({ name: language, path: `html/${language}/**` })),
    public: ['copyright'],
  });
}, 2 * MINUTE);
afterAll(() => site?.close());

describe('the Debian handbook', () => {
  test('is protected whole', () => {
    const { documents, sets } = site.protection;
    expect(documents).toBe(site.paths.length);
    expect(documents).toBeGreaterThan(5000);
    expect(sets.map(({ name }) => name).sort()).toEqual([...LANGUAGES, 'subscribers'].sort());
  });

  test(
    'comes back whole through Squid and Varnish, and for a second reader its host is not asked again',
    async () => {
      const { nginx, squid, urlPaths, paths } = site;
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
      expect((await nginx.requests()).length).toBe(urlPaths.length);
    },
    4 * MINUTE,
  );
});
