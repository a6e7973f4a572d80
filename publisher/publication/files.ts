/** The files that belong to a publication, and how caches and browsers are to treat each: docs/caches.md. */
import type { TrustedState } from '../../core/publication/client.ts';
import {
  contentTargetOf,
  headTargetOf,
  METADATA_PATH,
  TIMESTAMP_FILE,
  targetFile,
} from '../../core/publication/names.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { mediaTypeOf } from '../site/media-type.ts';
import type { PublishedDocument } from './roles.ts';

export type FileKind =
  /** A head, with the payload of an encrypted document. */
  | 'object'
  /** Content of a public document, or a file that the role `targets` names. */
  | 'content'
  /** A file for browsers without a reader, at the document's own name: fallback page, plain copy, or page with the object in it. */
  | 'plain'
  | 'metadata'
  | 'timestamp';

export interface PublicationFile {
  readonly path: string;
  readonly kind: FileKind;
  /** Tells whether its name stands for its content. */
  readonly immutable: boolean;
  /** Tells whether a publication can do without it. */
  readonly optional: boolean;
}

/** Path of the timestamp at every place. */
export const TIMESTAMP_PATH = METADATA_PATH + TIMESTAMP_FILE;

/** Files at names that stay, outside of the publication. */
export const SITE_FILES = [HOST_PROOF_PATH, DESCRIPTOR_PATH] as const;

const IMMUTABLE_NAME = /\/[0-9a-f]{64}\.[^/]+$/;
const OWN_JSON = /\.wispr-(?:provider|settings)$|\/wispr-provider$/;
const METADATA_NAME = /^\d+\.[^/]+\.json$/;

/** Seconds for which caches keep what may be replaced. */
const PLAIN_AGE = 300;
const TIMESTAMP_AGE = 60;
const FOREVER = 'public, no-transform, max-age=31536000, immutable';

/** Lists the files of a document. The object comes first. */
export function filesOf({ path, entry }: PublishedDocument): PublicationFile[] {
  const { head, content, inPage } = entry;
  const files: PublicationFile[] = [];
  if (!inPage) files.push(immutable(targetFile(headTargetOf(path), head), 'object'));
  if (content !== undefined) files.push(immutable(targetFile(contentTargetOf(path), content), 'content'));
  files.push({ path, kind: 'plain', immutable: false, optional: content === undefined && !inPage });
  return files;
}

export function* ownTargetFiles({ targets }: Pick<TrustedState, 'targets'>): Generator<PublicationFile> {
  for (const path of targets.targetPaths()) {
    const target = targets.target(path);
    if (target) yield immutable(targetFile(path, target.sha256), 'content');
  }
}

/** Tells whether a path has the form of a name that never gets another content. */
export function isImmutablePath(path: string): boolean {
  if (path.startsWith(METADATA_PATH)) return METADATA_NAME.test(path.slice(METADATA_PATH.length));
  return IMMUTABLE_NAME.test(path);
}

export function headersOf({ path, kind, immutable: forever }: PublicationFile) {
  const age = kind === 'timestamp' ? TIMESTAMP_AGE : PLAIN_AGE;
  const cacheControl = forever ? FOREVER : `public, no-transform, max-age=${age}`;
  return { contentType: contentTypeOf(path, kind), cacheControl };
}

function contentTypeOf(path: string, kind: FileKind): string {
  if (kind === 'object' || path.endsWith(OBJECT_SUFFIX)) return 'application/cache-protected';
  if (kind === 'metadata' || kind === 'timestamp') return 'application/json';
  if (path === HOST_PROOF_PATH) return 'text/plain; charset=utf-8';
  return path.startsWith('/.well-known/') && OWN_JSON.test(path) ? 'application/json' : mediaTypeOf(path);
}

function immutable(path: string, kind: FileKind): PublicationFile {
  return { path, kind, immutable: true, optional: false };
}
