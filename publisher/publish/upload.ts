/** Brings the files of a publication from `out` to a target, in the order of docs/spec/publication.md, section 8; the timestamp is not among them. */
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type MetaFile, sameFile } from '../../core/publication/metadata.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target, UploadOptions } from '../../node-support/storage/target.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { keyFilesIn } from '../protect/reading-site.ts';
import { filesOf, headersOf, ownTargetFiles, type PublicationFile, SITE_FILES } from '../publication/files.ts';
import {
  contentsOf,
  delegatedRoles,
  fileOfRole,
  metadataFilesOf,
  type PublishedDocument,
} from '../publication/roles.ts';
import type { SnapshotPublication } from '../publication/signed.ts';
import { READING_SITE_FILES } from '../serverless/reading-site.ts';
import { isText, isUtf8Text, withCharset } from '../site/media-type.ts';
import { hasReadingSite } from '../workspace/configuration/schema.ts';
import { checkTarget } from './check-target.ts';
import { checkNotStopped } from './each-target.ts';
import { type Found, Inquiry, Inventory, PathSet } from './inventory.ts';
import { type Known, knownAt, type Part, partFor, type RolledBack } from './remembered.ts';
import type { Site } from './site.ts';

export interface UploadProgress {
  readonly stage: 'comparing' | 'sending';
  readonly done: number;
  /** Files; `undefined` while they are being compared. */
  readonly total: number | undefined;
}

export interface Uploaded {
  readonly files: number;
  readonly bytes: number;
  readonly unchanged: number;
  /** Files among those that were sent which were to be there already. */
  readonly repaired: number;
  /** Files of the publication that were looked at, but for the timestamp. */
  readonly named: PathSet;
  /** Part that was looked at; `undefined`: everything. */
  readonly part: Part | undefined;
}

interface Context {
  readonly site: Site;
  readonly target: Target;
  readonly publication: SnapshotPublication;
  readonly known: Known | undefined;
  readonly part: Part | undefined;
  readonly inventory: Found;
  readonly onProgress: ((progress: UploadProgress) => void) | undefined;
}

type Plan = Uploaded & { readonly missing: PathSet };

/** Files in flight: enough to hide a bucket's answering times; files that are open, and parts in memory, stay few. */
const IN_FLIGHT = 16;
/** Bytes of the longest text that is looked at to name its characters. */
const LOOKED_AT = 1024 * 1024;

/**
 * Sends what the target lacks of a publication in `out`, but for the timestamp.
 *
 * @throws PublishError `publication-missing`, `publication-other`, `output-foreign`, `stopped`; StorageError, `target-changed` where another
 * program has put metadata there meanwhile; readers then find the publication before
 */
export async function upload(
  site: Site,
  target: Target,
  publication: SnapshotPublication,
  rolledBack?: RolledBack,
  onProgress?: (progress: UploadProgress) => void,
): Promise<Uploaded> {
  await checkTarget(target, site, publication.signed);
  const known = await knownAt(target, site, rolledBack);
  const part = await partFor(known, site, publication);
  const inventory = part
    ? new Inquiry(target)
    : await Inventory.of(target, { signal: site.signal, isThorough: site.inTurn === 'all' });
  const context = { site, target, publication, known, part, inventory, onProgress };
  const plan = await planUpload(context);
  if (plan.files > 0) await send(context, plan);
  return plan;
}

async function planUpload(context: Context): Promise<Plan> {
  const { publication, known, part, site, onProgress } = context;
  const [named, missing] = [new PathSet(), new PathSet()];
  let [files, bytes, unchanged, repaired] = [0, 0, 0, 0];
  const look = async (file: PublicationFile, isNew: boolean) => {
    checkNotStopped(site.signal);
    const length = await lengthOf(file, site.out);
    if (length === undefined) return;
    named.add(file.path);
    if (await isThere(file, length, context)) unchanged++;
    else {
      [files, bytes] = [files + 1, bytes + length];
      if (!isNew) repaired++;
      missing.add(file.path);
    }
    onProgress?.({ stage: 'comparing', done: files + unchanged, total: undefined });
  };
  for await (const documents of documentsOf(context)) {
    const found = documents.flatMap((document) => {
      const isNew = known?.changed.has(document.path) ?? true;
      return filesOf(document).map((file) => ({ file, isNew }));
    });
    await forEachInFlight(found, IN_FLIGHT, ({ file, isNew }) => look(file, isNew));
  }
  if (part) await checkLists(context);
  const others = [...siteFiles(site), ...ownTargetFiles(publication.state), ...metadataToSend(context)];
  await forEachInFlight(others, IN_FLIGHT, (file) => look(file, true));
  return { files, bytes, unchanged, repaired, named, part, missing };
}

/** Sends files that others name, then those at names that stay, then those that name others. */
async function send(context: Context, { missing, files: total }: Plan): Promise<void> {
  const { publication, site, target, onProgress } = context;
  let done = 0;
  const sendOne = async (file: PublicationFile) => {
    checkNotStopped(site.signal);
    const length = missing.has(file.path) ? await lengthOf(file, site.out) : undefined;
    if (length === undefined) return;
    await put(file, length, context);
    onProgress?.({ stage: 'sending', done: ++done, total });
  };
  await forEachInFlight(documentFiles(context, true), IN_FLIGHT, sendOne);
  await forEachInFlight(ownTargetFiles(publication.state), IN_FLIGHT, sendOne);
  await forEachInFlight(documentFiles(context, false), IN_FLIGHT, sendOne);
  for (const file of siteFiles(site)) await sendOne(file); // the page that opens invitations comes after what it loads
  // Files that name others come after them; a new root last of all, because readers who see it may give up the previous metadata.
  const files = metadataToSend(context);
  const snapshots = files.filter(({ path }) => path.endsWith('.snapshot.json'));
  const roots = files.filter(({ path }) => path.endsWith('.root.json'));
  const lists = files.filter((file) => !snapshots.includes(file) && !roots.includes(file));
  if (files.some(({ path }) => missing.has(path))) await checkTarget(target, site, publication.signed);
  await forEachInFlight(lists, IN_FLIGHT, sendOne);
  for (const file of [...snapshots, ...roots]) await sendOne(file);
}

/** Reads the documents that are looked at, list by list. @throws PublicationError for what is wrong with a list */
async function* documentsOf({ publication, part }: Context): AsyncGenerator<readonly PublishedDocument[]> {
  for await (const role of delegatedRoles(publication, part)) {
    if (role.failure) throw role.failure;
    const { documents, wrong } = await contentsOf(role, part);
    if (wrong[0]) throw wrong[0];
    yield documents;
  }
}

async function* documentFiles(context: Context, areImmutable: boolean): AsyncGenerator<PublicationFile> {
  for await (const documents of documentsOf(context))
    for (const document of documents) yield* filesOf(document).filter(({ immutable }) => immutable === areImmutable);
}

function siteFiles({ configuration, out }: Site): PublicationFile[] {
  const alone = hasReadingSite(configuration) ? [] : [...keyFilesIn(out), ...READING_SITE_FILES];
  return [...SITE_FILES, ...alone].map(plainFile);
}

/** Describes a file that is not signed, and need not be there. */
export function plainFile(path: string): PublicationFile {
  return { path, kind: 'plain', immutable: false, optional: true };
}

/** Names the metadata files of the publication; lists that the target has are passed over, unless they are compared in turn. */
function metadataToSend({ publication: { state }, part }: Context): PublicationFile[] {
  const isKnown = ([name, file]: readonly [string, MetaFile]) => {
    const before = part?.lists.has(name) ? undefined : part?.shown.roles.get(name);
    return before !== undefined && sameFile(before, file);
  };
  const known = new Set(
    [...state.snapshot.roles].filter(isKnown).map(([name, file]) => fileOfRole(name, file.version)),
  );
  const paths = [...metadataFilesOf(state)].filter((path) => !known.has(path));
  return paths.map((path) => ({ path, kind: 'metadata', immutable: true, optional: false }));
}

/** Checks the lists to send, also those without a document to look at. @throws PublishError `publication-missing` */
async function checkLists({ publication: { state }, part, site }: Context): Promise<void> {
  for (const [name, file] of state.snapshot.roles) {
    const before = part?.shown.roles.get(name);
    if (before && sameFile(before, file)) continue;
    const local = join(site.out, fileOfRole(name, file.version));
    const bytes = await readIfThere(local);
    if (bytes === undefined || hash('sha256', bytes) !== file.sha256) throw lacking(local);
  }
}

/** Returns the length of a file in `out`; `undefined` if there is none and need not be. @throws PublishError `publication-missing` */
async function lengthOf({ path, optional }: PublicationFile, out: string): Promise<number | undefined> {
  const local = join(out, path);
  const found = await stat(local).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found?.isFile()) return found.size;
  if (optional) return undefined;
  throw lacking(local);
}

function lacking(file: string): PublishError {
  return new PublishError('publication-missing', `${file} is missing, or not what the publication names`);
}

async function isThere(file: PublicationFile, length: number, context: Context): Promise<boolean> {
  const { inventory, target, site } = context;
  const there = await inventory.find(file.path);
  if (there?.length !== length) return false;
  if (file.immutable && file.kind !== 'metadata' && site.inTurn !== 'all') return true;
  // The names of metadata have a version, and no hash: another file of that name, even as long, would break the site.
  return target.matches(there, { file: join(site.out, file.path) });
}

async function put(file: PublicationFile, length: number, context: Context): Promise<void> {
  const local = join(context.site.out, file.path);
  const { contentType, cacheControl } = headersOf(file);
  try {
    const headers = { contentType: await typeOf(local, length, contentType), cacheControl };
    await context.target.upload(file.path, { file: local }, { ...headers, ...conditionOf(file, context) });
  } catch (error) {
    const wasChanged = error instanceof StorageError && error.code === 'target-changed';
    // A request whose answer was lost, or another program, may have put the same.
    if (!wasChanged || !(await hasBytes(file.path, context))) throw error;
  }
}

/** Keeps metadata that another program has put there since: their names have no hash. */
function conditionOf({ path, kind }: PublicationFile, { inventory }: Context): Pick<UploadOptions, 'replacing'> {
  return kind === 'metadata' ? { replacing: inventory.tagOf(path) } : {};
}

/** Tells whether the target has a file as `out` does, without a look at what it had before. */
export async function hasBytes(path: string, { site, target }: Pick<Context, 'site' | 'target'>): Promise<boolean> {
  const there = await target.head(path);
  return there !== undefined && target.matches(there, { file: join(site.out, path) });
}

/** Names the characters of a text only where it is UTF-8: the field overrides what the text says itself. */
async function typeOf(local: string, length: number, type: string): Promise<string> {
  if (!isText(type) || length > LOOKED_AT) return type;
  return withCharset(type, isUtf8Text(await readFile(local)));
}
