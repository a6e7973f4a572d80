/** The in-browser reader as it is built and read: its size, and that it is the same each time. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { readWebReader, type WebReaderFiles, type WebReaderScript } from '../../node-support/web-reader-files.ts';
import { writeWebReader } from '../../scripts/build-web-reader.ts';

/** Bytes by gzip: of what every reader loads, of what brings the keys, and of what comes beside the reading. */
const KIB = 1024;
const BUDGETS = {
  reading: 49 * KIB,
  vault: 14 * KIB,
  open: 8 * KIB,
  password: 6 * KIB,
  sheet: 3 * KIB,
  library: 3 * KIB,
};

let built: WebReaderFiles | undefined;
beforeAll(async () => {
  await writeWebReader();
  built = readWebReader();
});

describe('the in-browser reader', () => {
  it('takes at most 49 KiB, and 14 KiB more where keys are had; without a key server 8, and 6 for a password; 3 for sheet and library each', () => {
    const lengthOf = (name: WebReaderScript) => built?.files.get(name)?.gzip.length ?? Number.NaN;
    expect(lengthOf('worker') + lengthOf('start')).toBeLessThanOrEqual(BUDGETS.reading);
    for (const name of ['vault', 'open', 'password', 'sheet', 'library'] as const)
      expect(lengthOf(name)).toBeLessThanOrEqual(BUDGETS[name]);
  });

  it('has neither libsodium nor anything of Node.js in it, and evaluates no text', () => {
    for (const { content } of built?.files.values() ?? [])
      expect(content.toString()).not.toMatch(/WebAssembly|node:|\brequire\(|\beval\(|new Function|importScripts/);
  });

  it('is the same whenever it is built', async () => {
    await writeWebReader();
    expect(readWebReader()).toEqual(built);
  });

  it('comes with the digest of each script, and compressed as it is', () => {
    for (const { content, gzip, brotli, integrity } of built?.files.values() ?? []) {
      expect(integrity).toBe(`sha256-${createHash('sha256').update(content).digest('base64')}`);
      for (const unpacked of [gunzipSync(gzip), brotliDecompressSync(brotli)])
        expect(unpacked.equals(content)).toBe(true);
    }
  });

  it('is not there where a script is missing, and another version where one differs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'wispr-web-reader-'));
    try {
      expect(readWebReader(folder)).toBeUndefined();
      writeFileSync(join(folder, 'worker.js'), 'one');
      expect(readWebReader(folder)).toBeUndefined();
      writeFileSync(join(folder, 'start.js'), 'two');
      const { version } = readWebReader(folder) ?? {};
      expect(version).toMatch(/^[\w-]{43}$/);
      writeFileSync(join(folder, 'start.js'), 'three');
      expect(readWebReader(folder)?.version).not.toBe(version);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
