/** Brings the reading site and the key files of a site without a key server into `out`; where there is a key server, takes them out again. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { KEY_FILES_PATH } from '../../core/site/path.ts';
import type { KeyStoreContents } from '../keys/key-store.ts';
import { sourceInDirectory } from '../publication/sources.ts';
import { isKeyFilePath, keyFilesOf } from '../serverless/key-files.ts';
import { READING_SITE_FILES, readingSiteFiles } from '../serverless/reading-site.ts';
import { type Configuration, hasReadingSite, originsOf } from '../workspace/configuration/schema.ts';
import { entriesOf, putIfDifferent, removeFiles } from './files.ts';
import { replaceOutputFile } from './writers/files.ts';

export interface ReadingSiteRun {
  readonly configuration: Configuration;
  readonly out: string;
  readonly contents: KeyStoreContents;
  readonly rootId: KeyId;
  /** Seconds since 1970. */
  readonly now: number;
}

/**
 * Writes what is missing or other, and removes what is not wanted any more.
 *
 * @returns the number of key files; `undefined` where there is a key server
 * @throws PublishError `output-failed`, `configuration-invalid`, `argument-invalid`
 */
export async function writeReadingSite(run: ReadingSiteRun): Promise<number | undefined> {
  const { configuration, out, rootId: root } = run;
  const { site, name = site, accent } = configuration;
  if (hasReadingSite(configuration)) {
    removeThere(out, [...READING_SITE_FILES, ...keyFilesIn(out)]);
    return undefined;
  }
  const files = readingSiteFiles({ site, root, name, content: originsOf(configuration), accent });
  for (const [path, bytes] of files) await putIfDifferent(join(out, path), bytes);
  return (await writeKeyFiles(run)).length;
}

function removeThere(out: string, paths: readonly string[]): void {
  removeFiles(
    out,
    paths.filter((path) => existsSync(join(out, path))),
  );
}

/**
 * Writes the key files that changed, and removes those of invitations that ended or were removed.
 *
 * @returns their paths
 * @throws PublishError `output-failed`, `argument-invalid`
 */
export async function writeKeyFiles({ configuration, out, contents, rootId, now }: ReadingSiteRun): Promise<string[]> {
  const context = { root: rootId, site: configuration.site };
  const files = await keyFilesOf(contents, context, sourceInDirectory(out), now);
  for (const [path, bytes] of files) if (bytes) replaceOutputFile(join(out, path), bytes);
  removeFiles(
    out,
    keyFilesIn(out).filter((path) => !files.has(path)),
  );
  return [...files.keys()];
}

export function keyFilesIn(out: string): string[] {
  const paths = Array.from(entriesOf(join(out, KEY_FILES_PATH)), ({ name }) => KEY_FILES_PATH + name);
  return paths.filter(isKeyFilePath);
}
