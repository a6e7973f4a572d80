/** Brings the files of a publication from `out` to a target, in the order of docs/spec/publication.md, section 8; the timestamp is not among them. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { PutOptions, Target } from '../../node-support/storage/target.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { filesOf, headersOf, ownTargetFiles, type PublicationFile, SITE_FILES } from '../publication/files.ts';
import { contentsOf, delegatedRoles, metadataFilesOf } from '../publication/roles.ts';
import type { SnapshotPublication } from '../publication/snapshot.ts';
import { isText, isUtf8Text, withCharset } from '../site/media-type.ts';
import { type Inventory, PathSet } from './inventory.ts';

/** How far an upload is. */
export interface UploadProgress {
  readonly stage: 'comparing' | 'sending';
  readonly done: number;
  /** Files; `undefined` while they are being compared. */
  readonly total: number | undefined;
  readonly bytes: number;
  readonly totalBytes: number | undefined;
}

export interface UploadOptions {
  readonly out: string;
  readonly target: Target;
  readonly publication: SnapshotPublication;
  readonly inventory: Inventory;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** @throws PublishError `stopped` */
  readonly checkNotStopped: () => void;
  /** Called before metadata are sent, which another copy of the workspace may have put there since. @throws PublishError `publication-other` */
  readonly checkOurs: () => Promise<void>;
}

/** What has to be sent, and what belongs to the publication. */
export interface UploadPlan {
  readonly files: number;
  readonly bytes: number;
  readonly unchanged: number;
  /** Every file of the publication, but for the timestamp. */
  readonly named: PathSet;
  /** Those that have to be sent. */
  readonly missing: PathSet;
}

/** Enough to hide a bucket's answering times; files that are open, and parts in memory, stay few. */
const LATE = /\.(?:snapshot|root)\.json$/;
const IN_FLIGHT = 16;
/** Longer texts are sent without a word about their characters. */
const LOOKED_AT = 1024 * 1024;

/**
 * Finds out what has to be sent.
 *
 * @throws PublishError `publication-missing`
 */
export async function planUpload(options: UploadOptions): Promise<UploadPlan> {
  const { publication, checkNotStopped, onProgress } = options;
  const [named, missing] = [new PathSet(), new PathSet()];
  let [files, bytes, unchanged] = [0, 0, 0];
  const look = async (file: PublicationFile) => {
    checkNotStopped();
    const length = await neededLength(file, options, (path) => named.add(path));
    if (length === 'absent') return;
    if (length === 'there') unchanged++;
    else {
      [files, bytes] = [files + 1, bytes + length];
      missing.add(file.path);
    }
    onProgress?.({ stage: 'comparing', done: files + unchanged, total: undefined, bytes, totalBytes: undefined });
  };
  for await (const role of delegatedRoles(publication)) {
    if (role.failure) throw role.failure;
    const { documents, wrong } = await contentsOf(role);
    if (wrong[0]) throw wrong[0];
    await forEachInFlight(documents.flatMap(filesOf), IN_FLIGHT, look);
  }
  await forEachInFlight(
    [...siteFiles(), ...ownTargetFiles(publication.state), ...metadata(publication)],
    IN_FLIGHT,
    look,
  );
  return { files, bytes, unchanged, named, missing };
}

/**
 * Sends it: first what is named, then what stands at names that stay, then what names it.
 *
 * @throws StorageError, `target-changed` where somebody else has put metadata there meanwhile; what readers find then is the publication before
 */
export async function upload(options: UploadOptions, plan: UploadPlan): Promise<void> {
  if (plan.files === 0) return;
  const { publication } = options;
  let [done, bytes] = [0, 0];
  const send = async (file: PublicationFile) => {
    options.checkNotStopped();
    if (!plan.missing.has(file.path)) return; // compared already: once is enough
    const length = await neededLength(file, options);
    if (typeof length === 'string') return;
    await put(file, options);
    [done, bytes] = [done + 1, bytes + length];
    options.onProgress?.({ stage: 'sending', done, total: plan.files, bytes, totalBytes: plan.bytes });
  };
  const immutable = (file: PublicationFile) => file.immutable;
  const plain = (file: PublicationFile) => !file.immutable;
  await forEachInFlight(documentFiles(publication, immutable), IN_FLIGHT, send);
  await forEachInFlight(ownTargetFiles(publication.state), IN_FLIGHT, send);
  await forEachInFlight(documentFiles(publication, plain), IN_FLIGHT, send);
  await forEachInFlight(siteFiles(), IN_FLIGHT, send);
  // What names other files comes after them; a new root last of all, because readers who see it may give up the metadata of before.
  const files = [...metadata(publication)];
  if (files.some(({ path }) => plan.missing.has(path))) await options.checkOurs();
  await forEachInFlight(
    files.filter(({ path }) => !LATE.test(path)),
    IN_FLIGHT,
    send,
  );
  await forEachInFlight(
    files.filter(({ path }) => path.endsWith('.snapshot.json')),
    1,
    send,
  );
  await forEachInFlight(
    files.filter(({ path }) => path.endsWith('.root.json')),
    1,
    send,
  );
}

async function* documentFiles(
  publication: SnapshotPublication,
  wanted: (file: PublicationFile) => boolean,
): AsyncGenerator<PublicationFile> {
  for await (const role of delegatedRoles(publication)) {
    for (const document of (await contentsOf(role)).documents) yield* filesOf(document).filter(wanted);
  }
}

function siteFiles(): PublicationFile[] {
  return SITE_FILES.map((path) => ({ path, kind: 'plain', immutable: false, optional: true }));
}

function* metadata({ state }: SnapshotPublication): Generator<PublicationFile> {
  for (const path of metadataFilesOf(state)) yield { path, kind: 'metadata', immutable: true, optional: false };
}

/** The length of a file that has to be sent; or that the target has it, or that there is none and need not be. */
async function neededLength(
  file: PublicationFile,
  { out, inventory, target }: UploadOptions,
  belongs?: (path: string) => void,
): Promise<number | 'there' | 'absent'> {
  const local = join(out, file.path);
  const found = await stat(local).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!found?.isFile()) {
    if (file.optional) return 'absent';
    throw new PublishError('publication-missing', `${local} is missing, which the publication names`);
  }
  belongs?.(file.path);
  const there = inventory.find(file.path);
  if (there?.length !== found.size) return found.size;
  if (file.immutable && file.kind !== 'metadata') return 'there';
  // The names of metadata have a version, and no hash: another file of that name, even as long, would break the site.
  return (await target.holds(there, { file: local })) ? 'there' : found.size;
}

async function put(file: PublicationFile, options: UploadOptions): Promise<void> {
  const local = join(options.out, file.path);
  const { contentType, cacheControl } = headersOf(file);
  try {
    const headers = { contentType: await typeOf(local, contentType), cacheControl };
    await options.target.put(file.path, { file: local }, { ...headers, ...conditionOf(file, options) });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === 'target-changed' && (await holdsNow(file, options))) return; // by an answer that was lost, or the same by somebody else
    throw error;
  }
}

/** Names of metadata have no hash: what somebody else has put there since we looked is not replaced. */
function conditionOf({ path, kind }: PublicationFile, { inventory }: UploadOptions): Pick<PutOptions, 'replacing'> {
  return kind === 'metadata' ? { replacing: inventory.tagOf(path) } : {};
}

async function holdsNow({ path }: PublicationFile, { out, target }: UploadOptions): Promise<boolean> {
  const there = await target.head(path);
  return there !== undefined && target.holds(there, { file: join(out, path) });
}

/** A text's characters are named only where it is UTF-8: the field overrides what the text says itself. */
async function typeOf(local: string, type: string): Promise<string> {
  if (!isText(type) || (await stat(local)).size > LOOKED_AT) return type;
  return withCharset(type, isUtf8Text(await readFile(local)));
}
