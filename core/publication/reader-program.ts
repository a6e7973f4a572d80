/** Program that a site's browsers get: docs/spec/publication.md, "Site settings". */
import { canonicalJson, isJsonObject, type Json } from '../encoding/canonical-json.ts';
import { hexDigest, isHexDigest } from '../encoding/digest.ts';

/** SHA-256 (hexadecimal) of each script of the in-browser reader, by its name, as this site's browsers get it. */
export type ReaderProgram = Readonly<Record<string, string>>;

const MAXIMUM_SCRIPTS = 16;
const NAME = /^[a-z-]{1,32}$/;

export function isReaderProgram(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  const scripts = Object.entries(value);
  return (
    scripts.length <= MAXIMUM_SCRIPTS &&
    scripts.every(([name, digest]) => NAME.test(name) && isHexDigest(String(digest)))
  );
}

/** Its version, for people to compare: twelve characters that no other program has. */
export async function versionOfProgram(program: ReaderProgram): Promise<string> {
  return (await hexDigest(canonicalJson(program))).slice(0, 12);
}
