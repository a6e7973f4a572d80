/** Rules of `wispr.json` about content, as they stand in what is published. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseSettings } from '../../core/publication/settings.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

const PAGE = '<!doctype html><meta charset=utf-8><title>A &amp; B</title><p>The secret rest.</p>';
const TEMPLATE =
  '<% for (const [name, content] of it.robots) { %><meta name="<%= name %>" content="<%= content %>"><% } %>' +
  '<h1><%= it.title %></h1><a id="read" href="<%= it.reading %>">Read</a><script><%~ it.script %></script>';

let workspace: TestWorkspace;
beforeAll(async () => {
  const files = { 'index.html': PAGE, 'de/a.html': PAGE, '404.html': PAGE, 'a.txt': 'x' };
  workspace = await createWorkspace(files, {
    headers: [
      { path: '**/*.html', set: { 'Content-Language': 'en', 'Cache-Control': 'max-age=600' } },
      { path: 'de/**', set: { 'Content-Language': 'de' } },
    ],
    redirects: [{ from: '/old', to: '/de/a.html' }],
    cleanUrls: true,
    freshness: { graceDays: 3 },
    padding: 'padme',
    fallback: { template: 'teaser.eta' },
  });
  await writeFile(join(workspace.directory, 'teaser.eta'), TEMPLATE);
  await workspace.protect();
});
afterAll(() => workspace?.remove());

it('signs the headers of each document', async () => {
  expect((await workspace.open('/de/a.html')).metadata.headers).toEqual({
    'cache-control': 'max-age=600',
    'content-language': 'de',
  });
  expect((await workspace.open('/404.html')).metadata.headers).toMatchObject({ 'content-language': 'en' });
  expect((await workspace.open('/a.txt')).metadata).not.toHaveProperty('headers');
});

it('publishes the site settings', async () => {
  const directory = join(workspace.out, '.well-known');
  const [name = ''] = (await readdir(directory)).filter((each) => /^[0-9a-f]{64}\.wispr-settings$/.test(each));
  const { reader, ...settings } = parseSettings(await readFile(join(directory, name)));
  expect(reader).toHaveProperty('worker');
  expect(settings).toEqual({
    cleanUrls: true,
    grace: 259_200,
    notFound: '/404.html',
    redirects: [{ from: '/old', status: 301, to: '/de/a.html' }],
  });
});

it('makes fallback pages from the template', async () => {
  const page = await readFile(join(workspace.out, 'de/a.html'), 'utf8');
  expect(page).toContain('<h1>A &amp; B</h1><a id="read" href="https://read.news.example/de/a.html">');
});

it.each(['beside', 'html'] as const)('tells crawlers there what headers say: %s', async (carrier) => {
  await workspace.configure({ carrier, headers: [{ path: 'de/**', set: { 'X-Robots-Tag': 'googlebot: nofollow' } }] });
  await workspace.protect();
  const page = await readFile(join(workspace.out, 'de/a.html'), 'utf8');
  expect(page.match(/<meta name="[^>]*>/g)).toEqual(['<meta name="googlebot" content="nofollow">']);
});

it('makes them again when the template changes, and refuses redirects that never end, leaving everything as it was', async () => {
  await writeFile(join(workspace.directory, 'teaser.eta'), TEMPLATE.replace('Read<', 'Read on<'));
  await workspace.protect();
  expect(await readFile(join(workspace.out, 'de/a.html'), 'utf8')).toContain('Read on<');
  await workspace.configure({ redirects: [{ from: '/old', to: '/old' }] });
  await expect(workspace.protect()).rejects.toMatchObject({ code: 'configuration-invalid' });
  expect(await readFile(join(workspace.out, 'de/a.html'), 'utf8')).toContain('Read on<');
});
