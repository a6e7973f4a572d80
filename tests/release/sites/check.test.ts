/** `wispr check` on sites that were not made for it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkSite } from '../../../publisher/check/check-site.ts';
import type { CheckKind } from '../../../publisher/check/kinds.ts';
import type { CheckReport } from '../../../publisher/check/report.ts';
import { GOOD } from '../../support/configured.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MINUTE = 60_000;
const folder = temporaryFolder();

async function check(source: string): Promise<CheckReport> {
  const configurationFile = join(folder, 'wispr.json');
  await writeFile(configurationFile, JSON.stringify({ ...GOOD, source }));
  return checkSite({ configurationFile });
}

function subjects({ groups }: CheckReport, kind: CheckKind): string[] {
  return groups.find((group) => group.kind === kind)?.findings.map(({ subject }) => subject) ?? [];
}

describe('wispr check', () => {
  test(
    'finds in the documentation of Python what Debian has left out, and the links that leave the tree; nothing else',
    async () => {
      const report = await check('/usr/share/doc/python3.11/html');
      expect(subjects(report, 'refused')).toEqual(['/_static/jquery.js', '/_static/underscore.js']);
      expect(subjects(report, 'missing').sort()).toEqual([
        '/_static/jquery.js',
        '/_static/underscore.js',
        '/whatsnew/changelog.html',
      ]);
      expect(report.groups.length).toBe(2);
    },
    MINUTE,
  );

  test(
    'finds in the Debian handbook addresses with two slashes, which web servers forgive, a misspelt one, and files that a translation lacks',
    async () => {
      const report = await check('/usr/share/doc/debian-handbook/html');
      expect(report.groups.map(({ kind }) => kind)).toEqual(['missing', 'address-refused']);
      const refused = subjects(report, 'address-refused');
      expect(refused.filter((path) => path.includes('/images//image_')).length).toBeGreaterThan(10);
      expect(refused).toContain('/pt-BR/https//planet.debian.org/');
      const missing = subjects(report, 'missing');
      expect(missing).toContain('/fa-IR/en-US/css/brand.css');
      expect(missing.length + refused.filter((path) => !path.includes('/images//')).length).toBeLessThan(20);
    },
    MINUTE,
  );

  test('finds nothing in the newspaper that breaks: previews have their pictures, and links stay at every door', async () => {
    const report = await checkSite({ configurationFile: 'examples/newspaper/wispr.json' });
    expect(report.groups.map(({ kind }) => kind)).toEqual(['set-default']);
    expect(report.groups.every(({ breaks }) => !breaks)).toBe(true);
    const shown = report.public.find(({ reason }) => reason.includes('previews'))?.paths ?? [];
    expect(shown).toContain('/2026/11/17/pictures/high-water.jpg');
    expect(shown.length).toBeGreaterThanOrEqual(5);
  });
});
