/** The in-browser reader as it is built and read: its size, and that it is the same each time. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  programOf,
  readWebReader,
  type WebReaderFiles,
  type WebReaderScript,
} from '../../../node-support/web-reader-files.ts';
import { builtWebReader } from '../../../publisher/web-reader.ts';
import { writeWebReader } from '../../../scripts/build-web-reader.ts';
import { buildWebReader } from '../../support/web-reader.ts';

/** Bytes by gzip: of what every reader loads, and of what comes beside the reading or for a few. */
const KIB = 1024;
const BUDGETS = {
  readers: 48 * KIB,
  'ml-kem': 7 * KIB,
  open: 8 * KIB,
  password: 6 * KIB,
  page: 1.75 * KIB,
  sheet: 4.25 * KIB,
};

let built: WebReaderFiles | undefined;
beforeAll(async () => {
  await buildWebReader();
  built = readWebReader();
});

describe('the in-browser reader', () => {
  it('takes at most 48 KiB, and a few more where they are needed', () => {
    const lengthOf = (name: WebReaderScript) => built?.[name].gzip.length ?? Number.NaN;
    expect(lengthOf('worker') + lengthOf('start') + lengthOf('vault')).toBeLessThanOrEqual(BUDGETS.readers);
    for (const name of ['ml-kem', 'open', 'password', 'page', 'sheet'] as const)
      expect(lengthOf(name)).toBeLessThanOrEqual(BUDGETS[name]);
  });

  it('has neither libsodium nor anything of Node.js in it, and evaluates no text', () => {
    for (const { content } of Object.values(built ?? {}))
      expect(content.toString()).not.toMatch(/WebAssembly|node:|\brequire\(|\beval\(|new Function|importScripts/);
  });

  it('is the same whenever it is built', async () => {
    await writeWebReader();
    expect(readWebReader()).toEqual(built);
  });

  it('comes with the digest of each script, and compressed as it is', () => {
    for (const { content, gzip, brotli, integrity } of Object.values(built ?? {})) {
      expect(integrity).toBe(`sha256-${createHash('sha256').update(content).digest('base64')}`);
      for (const unpacked of [gunzipSync(gzip), brotliDecompressSync(brotli)])
        expect(unpacked.equals(content)).toBe(true);
    }
  });

  it('is not there where a script is missing, and another program where one differs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'wispr-web-reader-'));
    const site = { reading: 'https://read.news.example', root: 'r', site: 'news.example' };
    const program = () => programOf(readWebReader(folder) ?? expect.unreachable(), site);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const scripts = ['worker', 'root-worker', 'start', 'first', 'vault', 'ml-kem', 'page', 'sheet', 'open'];
    for (const name of scripts) writeFileSync(join(folder, `${name}.js`), name);
    expect(readWebReader(folder)).toBeUndefined();
    expect(() => builtWebReader(folder)).toThrow(expect.objectContaining({ code: 'web-reader-missing' }));
    writeFileSync(join(folder, 'password.js'), 'password');
    const before = program();
    const digest = (text: string) => createHash('sha256').update(text);
    const address = (name: string) =>
      `"${name}":{"src":"/-/${name}.js?v=${digest(name).digest('base64url')}","integrity":"sha256-${digest(name).digest('base64')}"}`;
    const head = `self.wisprSite={"reading":"https://read.news.example","root":"r","scripts":{${address('page')},${address('sheet')}},"site":"news.example"};`;
    // Scripts of sites without a key server are not in it.
    const names = ['start', 'first', 'vault', 'ml-kem', 'page', 'sheet'];
    expect(before).toEqual({
      worker: digest(`${head}worker`).digest('hex'),
      ...Object.fromEntries(names.map((name) => [name, digest(name).digest('hex')])),
    });
    writeFileSync(join(folder, 'start.js'), 'other');
    expect(program()).toEqual({ ...before, start: digest('other').digest('hex') });
  });
});
