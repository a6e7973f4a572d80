/**
 * Files that the program brings along besides its own code. They are named relative to the source that uses them: in a clone and in the package
 * they are beside it, in the single executable inside of it (scripts/build-single.mjs puts them there and gives each source a URL of its own).
 */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

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
 * What a thread or a child process runs.
 *
 * @param path - relative to `source`, without an ending: sources are TypeScript in a clone and JavaScript in the package
 */
export function programOfThread(path: string, source: string): URL {
  const url = new URL(path + /\.[a-z]+$/.exec(source), source);
  if (!isSea()) return url;
  return new URL(`data:text/javascript,${encodeURIComponent(getAsset(assetOf(url), 'utf8'))}`);
}

/** Its path from the root of the sources. */
function assetOf({ pathname }: URL): string {
  return decodeURIComponent(pathname).slice(1);
}
