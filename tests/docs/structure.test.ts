/** The lint rule that holds the folders apart, tried on imports that it must refuse. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'wispr-structure-'));
  cpSync('biome.json', join(directory, 'biome.json'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function isRefused(file: string, from: string): boolean {
  const path = join(directory, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `import { thing } from '${from}';\nthing();\n`);
  const args = ['lint', '--vcs-enabled=false', '--only=style/noRestrictedImports', file];
  const { status, stdout, stderr } = spawnSync('biome', args, { cwd: directory, encoding: 'utf8' });
  rmSync(path);
  if (status !== 0 && !/noRestrictedImports/.test(stdout + stderr)) throw new Error(stderr);
  return status !== 0;
}

describe('the structure', () => {
  it.each([
    ['core/object/x.ts', '../../publisher/init.ts'],
    ['core/object/x.ts', '../../cache-config/render.ts'],
    ['core/object/x.ts', 'undici'],
    ['core/object/x.ts', 'node:fs'],
    ['core/primitives/x.ts', '../../keyserver/server.ts'],
    ['core/reading/x.ts', '../../node-support/clock.ts'],
    ['node-support/x.ts', '../client-proxy/index.ts'],
    ['node-support/x.ts', 'undici'],
    ['publisher/x.ts', '../keyserver/server.ts'],
    ['publisher/verify/x.ts', '../../client-proxy/index.ts'],
    ['keyserver/x.ts', '../publisher/init.ts'],
    ['keyserver/x.ts', 'libsodium-wrappers'],
    ['client-proxy/doors/x.ts', '../../keyserver/server.ts'],
    ['client-proxy/x.ts', '../cli/voice.ts'],
    ['cache-config/x.ts', '../publisher/init.ts'],
    ['cli/x.ts', '../tests/support/wispr.ts'],
  ])('refuses that %s imports %s', (file, from) => {
    expect(isRefused(file, from)).toBe(true);
  });

  it.each([
    ['core/object/x.ts', '#primitives'],
    ['core/object/x.ts', '#symmetric'],
    ['core/object/x.ts', '../keys/key-id.ts'],
    ['core/primitives/x.ts', 'node:crypto'],
    ['node-support/x.ts', '../core/encoding/bytes.ts'],
    ['node-support/x.ts', 'node:fs'],
    ['node-support/undici.ts', 'undici'],
    ['publisher/verify/x.ts', '../../core/object/head.ts'],
    ['publisher/verify/x.ts', '../../node-support/clock.ts'],
    ['client-proxy/x.ts', 'undici'],
    ['demo/x.ts', '../publisher/init.ts'],
  ])('allows that %s imports %s', (file, from) => {
    expect(isRefused(file, from)).toBe(false);
  });
});
