/** Paths of the files of a publication: docs/spec/publication.md, sections 1 and 3. All are URL paths, in the one spelling used for fetching. */
import { isDocumentPath, OBJECT_SUFFIX, urlPathOf } from '../site/path.ts';
import { DESCRIPTOR_PATH } from '../site/well-known.ts';

export const METADATA_PATH = '/.well-known/wispr/';

/** The one metadata file whose name stays. */
export const TIMESTAMP_FILE = 'timestamp.json';

/** The root that a publisher's id is the hash of. */
export const FIRST_ROOT_FILE = '1.root.json';

/** Document paths that publications keep for themselves. */
export const SETTINGS_PATH = '/.well-known/wispr-settings';

/** Target paths of what the role `targets` names itself. */
export const DESCRIPTOR_TARGET = DESCRIPTOR_PATH.slice(1);
export const SETTINGS_TARGET = SETTINGS_PATH.slice(1);

/** The files that the role `targets` names itself, by their target paths. */
export function ownTargetsOf(own: {
  readonly descriptor: Uint8Array;
  readonly settings: Uint8Array;
}): [target: string, bytes: Uint8Array][] {
  return [
    [DESCRIPTOR_TARGET, own.descriptor],
    [SETTINGS_TARGET, own.settings],
  ];
}

/** The file of a role's metadata, `7.documents-a4.json`, as it stands in a URL; without a version in repositories that are not consistent. */
export function metadataFile(role: string, version?: number): string {
  const name = `${urlPathOf(role).replaceAll('/', '%2F')}.json`;
  return version === undefined ? name : `${version}.${name}`;
}

export function headTargetOf(documentPath: string): string {
  return documentPath.slice(1) + OBJECT_SUFFIX;
}

/** The document whose head has this target path; `undefined` if it is no head's. */
export function documentPathOfHead(targetPath: string): string | undefined {
  const path = `/${targetPath.slice(0, -OBJECT_SUFFIX.length)}`;
  return targetPath.endsWith(OBJECT_SUFFIX) && isDocumentPath(path) ? path : undefined;
}

export function contentTargetOf(documentPath: string): string {
  return documentPath.slice(1);
}

/**
 * The path of the file that holds a target: `/a/<hash>.b.html.protected` (TUF's consistent snapshots).
 *
 * @param hash - SHA-256, hexadecimal
 */
export function targetFile(targetPath: string, hash: string): string {
  const name = targetPath.lastIndexOf('/') + 1;
  return `/${targetPath.slice(0, name)}${hash}.${targetPath.slice(name)}`;
}

/** {@link targetFile} as it stands in a URL. */
export function targetUrlPath(targetPath: string, hash: string): string {
  return urlPathOf(targetFile(targetPath, hash));
}
