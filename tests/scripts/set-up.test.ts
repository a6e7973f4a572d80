/** What brings a fresh clone to the point where everything runs: here with packages of its own, and an npm that says only that it was called. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT, startCommand } from '../support/programs.ts';
import { CleanUp, temporaryFolder } from '../support/reader-rig.ts';

const NOTE = 'node_modules/.package-lock.json';
const LOCKED = {
  '': { name: 'clone' },
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/b': { version: '1.0.0', resolved: 'git+ssh://git@host.example/b.git#1234' },
  'node_modules/c': { version: '1.0.0', integrity: 'sha512-c', optional: true },
};

const cleanUp = new CleanUp();
let clone: string;
beforeEach(async () => {
  clone = await temporaryFolder(cleanUp);
  for (const folder of ['scripts', 'bin', 'node_modules/.bin']) mkdirSync(join(clone, folder), { recursive: true });
  copyFileSync(join(ROOT, 'scripts/set-up.mjs'), join(clone, 'scripts/set-up.mjs'));
  writeFileSync(join(clone, 'bin/npm'), '#!/bin/sh\necho "npm $1" >&2\n', { mode: 0o755 });
  writeFileSync(join(clone, 'node_modules/.bin/node'), '');
  write('package-lock.json', LOCKED);
});
afterEach(() => cleanUp.run());

function write(file: string, packages: object): void {
  writeFileSync(join(clone, file), JSON.stringify({ packages }));
}

async function setUp(): Promise<string> {
  const env = { ...process.env, PATH: `${join(clone, 'bin')}:${process.env.PATH}` };
  const { stderr } = await startCommand([process.execPath, join(clone, 'scripts/set-up.mjs')], { env }).ended;
  return stderr;
}

const INSTALLED = { ...LOCKED, 'node_modules/c': undefined };

describe('npm packages', () => {
  it('are not installed again after npm ci', async () => {
    write(NOTE, INSTALLED);
    expect(await setUp()).toBe('');
  });

  it.each([
    ['one is missing', { 'node_modules/a': undefined }],
    ['one that does not come from a registry is missing', { 'node_modules/b': undefined }],
    ['one that does not come from a registry is another version', { 'node_modules/b': { version: '0.9.0' } }],
    ['an optional one is another version', { 'node_modules/c': { version: '0.9.0', integrity: 'sha512-c' } }],
    ['one has other content', { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-b' } }],
  ])('are installed where %s', async (_, changed) => {
    write(NOTE, { ...INSTALLED, ...changed });
    expect(await setUp()).toContain('npm ci\n');
  });
});
