/** Statements of the in-browser reader's specification on its scripts, which publishers sign and others compare. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { programOf, type WebReaderFiles, workerFor } from '../../node-support/web-reader-files.ts';

const SPEC = readFileSync('docs/spec/web-reader.md', 'utf8');
const SITE = { reading: 'VAULT', root: 'ROOT ID', site: 'SITE' };

const script = { content: Buffer.from('0'), integrity: 'sha256-AAAA', gzip: Buffer.alloc(0), brotli: Buffer.alloc(0) };
const NAMES = ['worker', 'root-worker', 'start', 'first', 'vault', 'ml-kem', 'page', 'sheet', 'open', 'password'];
const files = Object.fromEntries(NAMES.map((name) => [name, script])) as WebReaderFiles;

it('docs/spec/web-reader.md names every script of a site with a key server', () => {
  const [, listed = ''] = /^Seven scripts, each at `\/-\/NAME\.js`: (.*?)\. The worker/ms.exec(SPEC) ?? [];
  const named = Array.from(listed.matchAll(/`([a-z-]+)`/g), ([, name]) => name);
  expect(named.toSorted()).toEqual(Object.keys(programOf(files, SITE)).toSorted());
});

it('docs/spec/web-reader.md has the line in front of the worker as it is served', () => {
  const [line = ''] = /^self\.wisprSite=.*;$/m.exec(SPEC) ?? [];
  const [served = '', scripts = ''] = /^.*"scripts":(\{.*\}),.*;/.exec(workerFor(files, SITE).content.toString()) ?? [];
  expect(served.replace(scripts, 'SCRIPTS').replaceAll(/"(VAULT|ROOT ID|SITE)"/g, '$1')).toBe(line);
  expect(scripts).toMatch(/^\{"page":\{"src":"\/-\/page\.js\?v=[^"]+","integrity":"sha256-[^"]+"\},"sheet":\{.*\}\}$/);
});
