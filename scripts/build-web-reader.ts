/** Builds the program of the in-browser reader into dist/web-reader/. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { WEB_READER_FOLDER } from '../node-support/web-reader-files.ts';

const ROOT = new URL('..', import.meta.url);

/**
 * One script for browsers, where `#primitives` is WebCrypto and noble.
 *
 * @param entry - a source, by its path from the root
 */
export async function bundle(entry: string): Promise<Uint8Array> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL(entry, ROOT))],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    logLevel: 'error',
  });
  return result.outputFiles[0]?.contents ?? new Uint8Array(0);
}

export async function buildWebReader(): Promise<void> {
  mkdirSync(WEB_READER_FOLDER, { recursive: true });
  writeFileSync(`${WEB_READER_FOLDER}/vault.js`, await bundle('web-reader/vault/main.ts'));
}

if (import.meta.main) await buildWebReader();
