/** `wispr check`, as a child process: what it prints, where, and how it exits. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runWispr } from '../support/wispr.ts';

const root = mkdtempSync(join(tmpdir(), 'wispr-cli-check-'));
const CONFIGURATION = {
  site: 'news.example',
  source: 'site',
  out: 'protected',
  content: 'http://news.example',
  keyServer: 'https://keys.news.example',
  reading: 'https://read.news.example',
};
const check = (...args: string[]) => runWispr(['check', ...args], { cwd: root });

beforeAll(async () => {
  await mkdir(join(root, 'site'));
  await writeFile(join(root, 'wispr.json'), JSON.stringify(CONFIGURATION));
  await writeFile(join(root, 'site/index.html'), '<!doctype html><meta charset=utf-8><a href="/a.html">a</a>');
  await writeFile(join(root, 'site/robots.txt'), 'x');
});
afterAll(() => rmSync(root, { recursive: true }));

describe('wispr check', () => {
  it('says what breaks, where, and what to do; exits with 3; needs no keys, and writes nothing', async () => {
    const { code, stdout, stderr } = await check();
    expect(code).toBe(3);
    expect(stdout).toMatch(/^Checked news\.example: 2 documents, 1 page among them, \d+ bytes, in [\d.]+ s\n/);
    expect(stdout).toContain('robots.txt (crawlers read it)');
    expect(stdout).toMatch(/set subscribers +1 document\n/);
    expect(stdout).toMatch(
      /Breaks for readers:\n {2}1 address .*\n {4}\/a\.html {2}\(index\.html, line 1\)\n {4}→ correct/,
    );
    expect(stderr).toBe('wispr: 1 thing to put right\n');
    expect((await readdir(root)).sort()).toEqual(['site', 'wispr.json']);
  });

  it('exits with 0 if there are notes only', async () => {
    await writeFile(join(root, 'site/a.html'), '');
    const { code, stdout, stderr } = await check(root);
    expect([code, stderr]).toEqual([0, 'wispr: nothing that breaks was found; 1 note\n']);
    expect(stdout).toMatch(/Worth knowing:\n {2}1 empty page\n {4}\/a\.html\n/);
    expect(stdout).not.toContain('Breaks');
    expect(await check('--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
    await rm(join(root, 'site/a.html'));
  });

  it('prints one JSON object with everything, where asked', async () => {
    const { code, stdout, stderr } = await check('-c', 'wispr.json', '--json', '--quiet');
    expect([code, stderr]).toEqual([3, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      site: 'news.example',
      documents: 2,
      public: [{ reason: 'crawlers read it', documents: 1, paths: ['/robots.txt'] }],
      groups: [{ kind: 'missing', breaks: true, total: 1, findings: [{ subject: '/a.html', count: 1 }] }],
    });
  });

  it('says only what breaks where asked', async () => {
    const { code, stdout, stderr } = await check('-q');
    expect([code, stderr]).toEqual([3, '']);
    expect(stdout).toMatch(/^Breaks for readers:/);
  });

  it('checks a directory that has no wispr.json with the defaults, and says so', async () => {
    const { code, stdout, stderr } = await check('site');
    expect([code, stderr]).toEqual([
      3,
      'wispr: site has no wispr.json: its files are checked with the defaults\nwispr: 1 thing to put right\n',
    ]);
    expect(stdout).toContain(`Checked ${join(root, 'site')}: 2 documents`);
    expect(stdout).toContain('/a.html  (index.html, line 1)');
    expect(JSON.parse((await check('site', '--json', '-q')).stdout)).not.toHaveProperty('site');
    expect(await readdir(join(root, 'site'))).toHaveLength(2);
  });

  it('names a template as wispr.json does', async () => {
    const template = `<!doctype html><html lang="<%= it.language %>"><title><%= it.title %></title>
<link rel="canonical" href="<%= it.canonical %>"><link rel="stylesheet" href="/teaser.css">
<script type="application/ld+json"><%~ it.jsonLd %></script><a id="read" href="<%= it.reading %>">Read</a><script><%~ it.script %></script>`;
    await writeFile(join(root, 'teaser.eta'), template);
    const settings = { ...CONFIGURATION, fallback: { template: 'teaser.eta' } };
    await writeFile(join(root, 'with-template.json'), JSON.stringify(settings));
    expect((await check('-c', 'with-template.json')).stdout).toContain('/teaser.css  (teaser.eta)\n');
    for (const name of ['teaser.eta', 'with-template.json']) await rm(join(root, name));
  });

  it('exits with 2 or 1 for what cannot be', async () => {
    expect(await check('nowhere')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('there is no nowhere'),
    });
    expect(await runWispr(['check'], { cwd: join(root, 'site') })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('[configuration-invalid]'),
    });
    expect(await check('.', '-c', 'wispr.json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('either DIR or -c'),
    });
    await writeFile(join(root, 'bad.json'), JSON.stringify({ ...CONFIGURATION, source: 'nowhere' }));
    expect(await check('-c', 'bad.json')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('[source-refused]'),
    });
    await writeFile(join(root, 'bad.json'), JSON.stringify({ ...CONFIGURATION, site: 'News', out: '' }));
    expect((await check('-c', 'bad.json')).stderr).toMatch(
      /^wispr: .*bad\.json, line 1: "site" must .*\nwispr: .*bad\.json, line 1: "out" is empty \[configuration-invalid\]\nwispr: hint: /,
    );
    await rm(join(root, 'bad.json'));
  });
});
