/**
 * Files that the program brings along besides its own code. They are named relative to the source that uses them: in a clone and in the package
 * they are beside it, in the single executable inside of it (scripts/build-single.mjs puts them there and gives each source a URL of its own).
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/**
 * @param path - relative to `source`
 * @param source - `import.meta.url` of the caller
 * @throws what `readFileSync` or `getAsset` throws where the file was not built
 */
export function readProgramFile(path: string, source: string): Buffer {
  const url = new URL(path, source);
  return isSea() ? Buffer.from(getAsset(assetOf(url))) : readFileSync(url);
}

/**
 * Finds the program of a thread or a child process.
 *
 * @param path - relative to `source`, without an ending: sources are TypeScript in a clone and JavaScript in the package
 */
export function programOfThread(path: string, source: string): URL {
  const url = new URL(path + /\.[a-z]+$/.exec(source), source);
  if (!isSea()) return url;
  return new URL(`data:text/javascript,${encodeURIComponent(getAsset(assetOf(url), 'utf8'))}`);
}

/**
 * Opens a folder with all that is in it. The single executable unpacks it; what was unpacked is removed when the caller disposes of it.
 *
 * @param path - relative to `source`
 */
export function openProgramFolder(path: string, source: string): Disposable & { readonly folder: string } {
  const url = new URL(path, source);
  if (!isSea()) return { folder: fileURLToPath(url), [Symbol.dispose]: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), 'wispr-files-'));
  const prefix = `${assetOf(url)}/`;
  for (const name of getAssetKeys().filter((key) => key.startsWith(prefix))) {
    const file = join(folder, name.slice(prefix.length));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.from(getAsset(name)));
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Names an asset: its path from the root of the sources. */
function assetOf({ pathname }: URL): string {
  return decodeURIComponent(pathname).slice(1);
}
