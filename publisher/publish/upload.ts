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
import type { SnapshotPublication } from '../publication/signed.ts';
import { isText, isUtf8Text, withCharset } from '../site/media-type.ts';
import { type Inventory, PathSet } from './inventory.ts';

/** How far an upload is. */
export interface UploadProgress {
  readonly stage: 'comparing' | 'sending';
  readonly done: number;
  /** Files; `undefined` while they are being compared. */
  readonly total: number | undefined;
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
    const length = await lengthOf(file, options.out);
    if (length === undefined) return;
    named.add(file.path);
    if (await isThere(file, length, options)) unchanged++;
    else {
      [files, bytes] = [files + 1, bytes + length];
      missing.add(file.path);
    }
    onProgress?.({ stage: 'comparing', done: files + unchanged, total: undefined });
  };
  for await (const role of delegatedRoles(publication)) {
    if (role.failure) throw role.failure;
    const { documents, wrong } = await contentsOf(role);
    if (wrong[0]) throw wrong[0];
    await forEachInFlight(documents.flatMap(filesOf), IN_FLIGHT, look);
  }
  const others = [...siteFiles(), ...ownTargetFiles(publication.state), ...metadata(publication)];
  await forEachInFlight(others, IN_FLIGHT, look);
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
  let done = 0;
  const send = async (file: PublicationFile) => {
    options.checkNotStopped();
    const length = plan.missing.has(file.path) ? await lengthOf(file, options.out) : undefined;
    if (length === undefined) return;
    await put(file, length, options);
    options.onProgress?.({ stage: 'sending', done: ++done, total: plan.files });
  };
  await forEachInFlight(documentFiles(publication, true), IN_FLIGHT, send);
  await forEachInFlight(ownTargetFiles(publication.state), IN_FLIGHT, send);
  await forEachInFlight(documentFiles(publication, false), IN_FLIGHT, send);
  await forEachInFlight(siteFiles(), IN_FLIGHT, send);
  // What names other files comes after them; a new root last of all, because readers who see it may give up the metadata of before.
  const files = [...metadata(publication)];
  const snapshots = files.filter(({ path }) => path.endsWith('.snapshot.json'));
  const roots = files.filter(({ path }) => path.endsWith('.root.json'));
  const lists = files.filter((file) => !snapshots.includes(file) && !roots.includes(file));
  if (files.some(({ path }) => plan.missing.has(path))) await options.checkOurs();
  await forEachInFlight(lists, IN_FLIGHT, send);
  for (const file of [...snapshots, ...roots]) await send(file);
}

async function* documentFiles(
  publication: SnapshotPublication,
  areImmutable: boolean,
): AsyncGenerator<PublicationFile> {
  for await (const role of delegatedRoles(publication)) {
    for (const document of (await contentsOf(role)).documents)
      yield* filesOf(document).filter(({ immutable }) => immutable === areImmutable);
  }
}

function siteFiles(): PublicationFile[] {
  return SITE_FILES.map((path) => ({ path, kind: 'plain', immutable: false, optional: true }));
}

function* metadata({ state }: SnapshotPublication): Generator<PublicationFile> {
  for (const path of metadataFilesOf(state)) yield { path, kind: 'metadata', immutable: true, optional: false };
}

/** The length of a file in `out`; `undefined` if there is none and need not be. @throws PublishError `publication-missing` */
async function lengthOf({ path, optional }: PublicationFile, out: string): Promise<number | undefined> {
  const local = join(out, path);
  const found = await stat(local).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found?.isFile()) return found.size;
  if (optional) return undefined;
  throw new PublishError('publication-missing', `${local} is missing, which the publication names`);
}

async function isThere(file: PublicationFile, length: number, options: UploadOptions): Promise<boolean> {
  const there = options.inventory.find(file.path);
  if (there?.length !== length) return false;
  if (file.immutable && file.kind !== 'metadata') return true;
  // The names of metadata have a version, and no hash: another file of that name, even as long, would break the site.
  return options.target.holds(there, { file: join(options.out, file.path) });
}

async function put(file: PublicationFile, length: number, options: UploadOptions): Promise<void> {
  const local = join(options.out, file.path);
  const { contentType, cacheControl } = headersOf(file);
  try {
    const headers = { contentType: await typeOf(local, length, contentType), cacheControl };
    await options.target.put(file.path, { file: local }, { ...headers, ...conditionOf(file, options) });
  } catch (error) {
    const wasChanged = error instanceof StorageError && error.code === 'target-changed';
    // By an answer that was lost, or the same by somebody else.
    if (!wasChanged || !(await holdsNow(file, options))) throw error;
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
async function typeOf(local: string, length: number, type: string): Promise<string> {
  if (!isText(type) || length > LOOKED_AT) return type;
  return withCharset(type, isUtf8Text(await readFile(local)));
}
