/** Checks which names of files can stand in a published site. */
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { isDocumentPath, OBJECT_SUFFIX, READING_SITE_PAGES } from '../../core/site/path.ts';

/**
 * The longest name of a source file, in bytes: common file systems take 255, and published files have 64 hexadecimal digits and a dot in front
 * of the name, and perhaps `.protected` behind it.
 */
const MAXIMUM_NAME_BYTES = 255 - 65 - OBJECT_SUFFIX.length;

/** SHA-256 in hexadecimal and a dot: what stands in front of immutable names. */
export const HASH_PREFIX = /^[0-9a-f]{64}\./;

/** The same as file systems see it that make no difference between upper and lower case; by Unicode, where U+017F is an s and U+212A a k. */
const LIKE_IMMUTABLE = /^[0-9a-f]{64}\./iu;
const LIKE_OBJECT = /\.protected$/iu;

/** Places where wispr puts files of its own, and the directory above; the worker of a site without a key server lies at the top. */
const OWN_PLACES = /^\/(?:\.well-known(?:$|\/wispr(?:$|\/|-))|wispr-worker\.js(?:$|\/))/iu;

/** Names of key files: site generators may copy whatever lies beside their configuration. */
const KEYS = /^\.?(?:publisher|root)\.keys/iu;

const MAY_HIDE = /[^ -~]|[. ](?:\/|$)/;

/** Returns the path as file systems see it that ignore invisible characters, and dots and spaces at the end of names. */
function withoutUnseen(path: string): string {
  if (!MAY_HIDE.test(path)) return path; // paths seldom hide anything: this is asked of every file
  return path.replace(/\p{Default_Ignorable_Code_Point}/gu, '').replace(/[. ]+(?=\/|$)/g, '');
}

/** Returns the name that `bytes` spell, or how to show it where they are not valid UTF-8. */
export function decodeName(bytes: Uint8Array): { name: string; valid: boolean } {
  const name = fromUtf8(bytes);
  return name === undefined ? { name: new TextDecoder().decode(bytes), valid: false } : { name, valid: true };
}

/** Says why a directory with this path, and what is in it, cannot be published; `undefined` if it can. */
export function problemOfDirectory(path: string): string | undefined {
  if (path.includes('\\')) return 'a backslash cannot stand in a path';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'control characters cannot stand in a path';
  if (path === READING_SITE_PAGES)
    return `the reading site's own pages stand at ${READING_SITE_PAGES}/, and would hide it`;
  if (LIKE_IMMUTABLE.test(nameOf(withoutUnseen(path))))
    return 'names that begin with 64 hexadecimal digits and a dot are those of published files';
  return isDocumentPath(path) ? undefined : 'its path is longer than 2,048 bytes';
}

/**
 * Says why a file with this path cannot be published; `undefined` if it can. No file of the output has two writers, because this refuses every
 * path that is like one of another document's files, or of wispr's own: a document writes its own path, `<hash>.name` beside it and
 * `<hash>.name.protected`, which tell whose they are.
 */
export function problemOfFile(path: string): string | undefined {
  const seen = withoutUnseen(path);
  if (LIKE_OBJECT.test(seen)) return `names that end in ${OBJECT_SUFFIX} are those of protected objects`;
  if (isKeyFile(seen)) return 'it holds your keys: have your site generator leave it out';
  const name = nameOf(path);
  if (3 * name.length > MAXIMUM_NAME_BYTES && utf8(name).length > MAXIMUM_NAME_BYTES) {
    return `its name is longer than ${MAXIMUM_NAME_BYTES} bytes, and published files have longer ones than their documents`;
  }
  return OWN_PLACES.test(seen) ? 'wispr itself puts a file there' : problemOfDirectory(path);
}

/** Names that version control, desktops, generators and web servers keep for themselves, and where secrets usually lie. */
const NEVER_MEANT =
  /^(?:\.(?:git.*|hg.*|svn|DS_Store|AppleDouble|directory|_.*|env.*|ht(?:access|passwd)|npmrc|netrc|pgpass|ssh|aws|gnupg|nojekyll|buildinfo|doctrees)|Thumbs\.db|desktop\.ini)$/i;

/** Tells whether a file or directory is left out whatever the configuration includes. */
export function isNeverMeant(path: string): boolean {
  return NEVER_MEANT.test(nameOf(path));
}

export function isKeyFile(path: string): boolean {
  return KEYS.test(nameOf(path));
}

/** Tells whether a file or directory is left out unless the configuration includes it: hidden ones, but for `.well-known` at the top. */
export function isHidden(path: string): boolean {
  return path !== '/.well-known' && nameOf(path).startsWith('.');
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
