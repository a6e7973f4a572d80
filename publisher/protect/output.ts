/**
 * The output directory, which is changed in place. What is there is looked at before anything is written: files that the index believes in
 * and that are missing are written again, and what wispr did not make is refused and never touched.
 */
import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { hostProofIn, isHostProof } from '../../core/keys/descriptor.ts';
import { ENVELOPE_TARGETS } from '../../core/keys/envelope.ts';
import { isHtmlCarrier } from '../../core/object/carrier.ts';
import { METADATA_PATH, metadataFile, SETTINGS_PATH } from '../../core/publication/names.ts';
import { OBJECT_SUFFIX } from '../../core/site/path.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { bootId } from '../../node-support/boot.ts';
import { printable } from '../../node-support/printable.ts';
import { PublishError } from '../errors.ts';
import { isKeyFilePath } from '../serverless/key-files.ts';
import { READING_SITE_FILES } from '../serverless/reading-site.ts';
import { recogniseFallbackPage } from '../site/fallback/recognise.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../site/fallback/template.ts';
import { HASH_PREFIX } from '../site/names.ts';
import { count, Problems, someOf } from '../text.ts';
import type { IndexedFiles, PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { IndexedDocument, RoleRow } from '../workspace/index/schema.ts';
import { IdSet } from '../workspace/index/statements.ts';
import { Directories } from './directories.ts';
import { digestOf, entriesOf, type FoundFile, isCutShort, parseImmutableName, readProof, startOf } from './files.ts';
import { isLeftoverName } from './writers/files.ts';

export type InspectedOutput = Omit<Inspection, 'look' | 'foreign'>;

/** Files that desktops put into directories by themselves. */
const LITTER = new Set(['.DS_Store', 'Thumbs.db', 'desktop.ini']);

/** Tells whether the role `targets` itself names the file at a path. */
function isOwnTarget(path: string): boolean {
  return path === DESCRIPTOR_PATH || path === SETTINGS_PATH || path.startsWith(`/${ENVELOPE_TARGETS}`);
}

/** Files that no publication names. */
const OWN_FILES: readonly string[] = [HOST_PROOF_PATH, DESCRIPTOR_PATH, ...READING_SITE_FILES];

const CARRIER_SUFFIX = '.carrier';
const MAGIC = 'wispr/1\n';
const STEP = 2000;

type FileRole = 'head' | 'content' | 'placed';

export interface InspectOptions {
  /** Root id that the host proof names; `undefined` if it is not known without the passphrase. */
  readonly rootId: string | undefined;
  readonly nextRoot: number;
  /** Lists of a later publication than the index describes. */
  readonly unknown?: readonly RoleRow[];
  /** Tells whether that one was made here, and its changes at documents' own names are noted; otherwise all files there may be of that one. */
  readonly isOurs?: boolean;
  /** Directories that are listed: all, none, or by default those that are not as they were left. */
  readonly list?: 'all' | 'none' | undefined;
  readonly readOnly: boolean;
  readonly checkNotStopped: () => void;
}

/**
 * Looks at the output. Own files that the index does not know, because it was lost or a run was interrupted, are retired there.
 *
 * @throws PublishError `output-foreign`
 */
export async function inspectOutput(
  out: string,
  index: PublisherIndex,
  { rootId, checkNotStopped, ...options }: InspectOptions,
): Promise<InspectedOutput> {
  const inspection = new Inspection(out, index, options);
  await index.listing(async () => {
    let looked = 0;
    for (const file of inspection.directories.filesIn(out)) {
      inspection.look(file);
      if (++looked % STEP !== 0) continue;
      await setImmediate();
      checkNotStopped();
    }
    checkOwn(out, inspection, rootId); // throws in here, so that nothing is noted either
  });
  return inspection;
}

/** Finds the metadata files that are as they were signed. Names have a version and no hash, so another publication's file may lie there. */
function signedFilesIn(out: string, index: PublisherIndex): Set<string> {
  const rows = [...index.roles().values()].filter(({ expires }) => expires > 0);
  const good = rows.filter(({ name, version, length, sha256 }) => {
    const file = join(out, METADATA_PATH, metadataFile(name, version));
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats?.isFile() && stats.size === length && digestOf(file) === sha256;
  });
  return new Set(good.map(({ name, version }) => metadataFile(name, version)));
}

function checkOwn(out: string, { isEmpty, foreign }: Inspection, rootId: string | undefined): void {
  const proof = readProof(out);
  const isOurs = rootId === undefined ? hostProofIn(proof) !== undefined : isHostProof(proof, rootId);
  if (!isEmpty && !isOurs) {
    const message = `${out} is not an output of this workspace, and was not touched`;
    throw new PublishError('output-foreign', message);
  }
  if (foreign.count === 0) return;
  const message = `${out} holds ${count(foreign.count, 'file')} that wispr did not make, and was not touched: ${someOf(foreign.first, ', ', foreign.count)}`;
  throw new PublishError('output-foreign', message);
}

/** Ids of documents that the index knows, by their files in the output. */
class Inspection {
  readonly heads: IdSet;
  readonly contents: IdSet;
  /** Documents with a file at their own names. */
  readonly placed: IdSet;
  /** Documents whose pages carry their objects, and wait to be placed. */
  readonly staged: IdSet;
  /** Names of the files in the directory of the metadata, but for those that are unfinished. */
  readonly metadata = new Set<string>();
  /** Names of metadata files that are, byte for byte, what the index says was signed. */
  readonly signed: ReadonlySet<string>;
  /** Hashes of what the role `targets` named last, as far as they are there, byte for byte. */
  readonly ownTargets = new Set<string>();
  /** Files that an interrupted run had begun, as paths in the output. */
  readonly unfinished: string[] = [];
  readonly foreign = new Problems();
  /** Directories that had to be listed, and others: what is said to be there in these is there. */
  readonly directories: Directories;
  #isEmpty = true;
  readonly #out: string;
  readonly #index: PublisherIndex;
  readonly #readOnly: boolean;
  /** Names of metadata files under which other files lie than were signed, and of the next root, at which readers would stop. */
  readonly #litter: ReadonlySet<string>;
  readonly #published: readonly string[];
  /** Tells whether files at documents' own names, which say nothing of their content, are of the publication that the index describes. */
  readonly #isCurrent: boolean;
  /** Tells whether files may be cut short: the index is synced to the disk, and objects are not, so after a power cut it may be ahead of them. */
  readonly #isDoubted: boolean;

  constructor(
    out: string,
    index: PublisherIndex,
    { nextRoot, unknown = [], isOurs, list, readOnly }: Omit<InspectOptions, 'rootId' | 'checkNotStopped'>,
  ) {
    this.#out = out;
    this.signed = signedFilesIn(out, index);
    this.#index = index;
    this.#readOnly = readOnly;
    const files = [...index.roles().values()].map(({ name, version }) => metadataFile(name, version));
    const named = new Set(unknown.map(({ name, version }) => metadataFile(name, version)));
    const litter = new Set(files.filter((name) => !this.signed.has(name) && !named.has(name)));
    this.#litter = litter.add(metadataFile('root', nextRoot));
    this.#isCurrent = (unknown.length === 0 || isOurs === true) && this.signed.size === files.length;
    this.#isDoubted = index.fact('boot') !== bootId();
    this.#published = index.fact('targets')?.split(' ') ?? [];
    const mayPass = !readOnly && this.#isCurrent && !this.#isDoubted && list !== 'all';
    this.directories = new Directories(list === 'none' ? 'all' : mayPass ? index.directories() : new Map());
    const largest = index.largestId();
    [this.heads, this.contents] = [new IdSet(largest), new IdSet(largest)];
    [this.placed, this.staged] = [new IdSet(largest), new IdSet(largest)];
  }

  get isEmpty(): boolean {
    return this.#isEmpty && this.directories.isEmpty;
  }

  look({ path, name, isFile }: FoundFile): void {
    if (LITTER.has(name)) return;
    this.#isEmpty = false;
    if (!isFile) this.#refuse(path);
    else if (path.startsWith(METADATA_PATH)) this.#lookAtMetadata(path.slice(METADATA_PATH.length), path);
    else if (isLeftoverName(name) && !this.#index.findFiles(path)) this.#lookAtLeftover(path);
    else if (!this.#isKnown(path) && !this.#index.isRetired(path)) this.#adopt(path);
  }

  #lookAtMetadata(name: string, path: string): void {
    if (isLeftoverName(name) || this.#litter.has(name)) this.unfinished.push(path);
    else if (/^(?:\d+\.[^/]+|timestamp)\.json$/.test(name)) this.metadata.add(name);
    else this.#refuse(path);
  }

  /** Keeps a page that carries its object, which is whole and may wait for its document; anything else goes. */
  #lookAtLeftover(path: string): void {
    const name = path.endsWith(CARRIER_SUFFIX) ? parseImmutableName(path.slice(0, -CARRIER_SUFFIX.length)) : undefined;
    const row = name && this.#index.findFiles(name.path);
    if (row?.form === 'carrier' && row.head === name?.hash && row.placed === undefined) this.staged.add(row.id);
    else this.unfinished.push(path);
  }

  #isKnown(path: string): boolean {
    const name = parseImmutableName(path);
    if (name && isOwnTarget(name.path)) {
      const isPublished = this.#published.includes(name.hash);
      if (isPublished && digestOf(join(this.#out, path)) === name.hash) this.ownTargets.add(name.hash);
      return isPublished;
    }
    const row = name && this.#index.findFiles(name.path);
    if (row && name.isObject && row.head === name.hash) this.#note(path, row, 'head');
    else if (row && !name.isObject && row.content === name.hash) this.#note(path, row, 'content');
    else return this.#isPlace(path);
    return true;
  }

  #isPlace(path: string): boolean {
    const row = this.#index.findFiles(path);
    if (row === undefined || row.form === 'none') return OWN_FILES.includes(path) || isKeyFilePath(path);
    this.#note(path, row, 'placed');
    return true;
  }

  #note(path: string, row: IndexedFiles, role: FileRole): void {
    const ids = { head: this.heads, content: this.contents, placed: this.placed }[role];
    if (role === 'placed' && !this.#isCurrent) return;
    if (!this.#isDoubted || this.#isWhole(path, row.path, role)) ids.add(row.id);
  }

  /** Tells whether a file has its length, or any if that is unknown. ext4, XFS, Btrfs and APFS give a file its length only with its bytes. */
  #isWhole(file: string, documentPath: string, role: FileRole): boolean {
    const length = lengthOf(this.#index.find(documentPath), role);
    const { size } = statSync(join(this.#out, file), { throwIfNoEntry: false }) ?? { size: -1 };
    return length === undefined ? size > 0 : size === length;
  }

  /** Retires a file that is ours but unknown to the index; refuses a foreign one. */
  #adopt(path: string): void {
    const kind = this.#kindOf(path);
    if (kind === 'foreign') this.#refuse(path);
    else if (kind === 'unfinished') this.unfinished.push(path);
    else if (!this.#readOnly) this.#index.retire(path, kind === 'plain');
  }

  /** `plain`: nothing that a publication names. `unfinished`: a run was killed before it had written it. */
  #kindOf(path: string): 'immutable' | 'plain' | 'unfinished' | 'foreign' {
    const file = join(this.#out, path);
    const name = parseImmutableName(path);
    if (path.endsWith(OBJECT_SUFFIX)) {
      const start = startOf(file).toString('latin1', 0, MAGIC.length);
      if (name && start === MAGIC) return 'immutable';
      return name && MAGIC.startsWith(start) ? 'unfinished' : 'foreign';
    }
    if (isOwnTarget(name?.path ?? '')) return 'immutable';
    if (this.#hasObject(path)) return 'plain';
    if (name && this.#hasObject(name.path)) return isCutShort(file, name.hash) ? 'unfinished' : 'immutable';
    if (name && digestOf(file) === name.hash) return 'immutable';
    if (isHtmlCarrier(startOf(file))) return 'immutable';
    return this.#isFallbackPage(file) ? 'plain' : 'foreign';
  }

  /** Tells whether a file is the page of a document whose object was lost with the index. */
  #isFallbackPage(file: string): boolean {
    const start = startOf(file, MAXIMUM_FALLBACK_PAGE + 1);
    return start.length <= MAXIMUM_FALLBACK_PAGE && recogniseFallbackPage(start) !== undefined;
  }

  #hasObject(path: string): boolean {
    return this.#objectsIn(dirname(path)).has(basename(path));
  }

  #objects: { directory: string; names: Set<string> } | undefined;

  /** Finds the documents that have objects in a directory; the last directory is remembered, since files come directory by directory. */
  #objectsIn(directory: string): Set<string> {
    if (this.#objects?.directory === directory) return this.#objects.names;
    const names = new Set<string>();
    for (const { name } of entriesOf(join(this.#out, directory))) {
      if (name.endsWith(OBJECT_SUFFIX)) names.add(name.slice(0, -OBJECT_SUFFIX.length).replace(HASH_PREFIX, ''));
    }
    this.#objects = { directory, names };
    return names;
  }

  #refuse(path: string): void {
    this.foreign.add(printable(path.slice(1)));
  }
}

function lengthOf(row: IndexedDocument | undefined, role: FileRole): number | undefined {
  if (role === 'head') return row?.setId === undefined ? row?.headLength : row.bytesOut;
  if (role === 'content' || row?.form === 'copy') return row?.contentLength;
  return row?.form === 'carrier' ? row.bytesOut : undefined;
}

export function isThere(
  row: Pick<IndexedFiles, 'id' | 'path' | 'form' | 'placed'> & { readonly content: unknown },
  output: InspectedOutput,
): boolean {
  if (row.form === 'carrier') return row.placed === undefined ? output.staged.has(row.id) : isPlaced(row, output);
  if (output.directories.has(row.path)) return true;
  return output.heads.has(row.id) && (row.content === undefined || output.contents.has(row.id));
}

/** Tells whether something lies at a document's own name that was put there. */
export function isPlaced({ id, path }: Pick<IndexedFiles, 'id' | 'path'>, output: InspectedOutput): boolean {
  return output.placed.has(id) || output.directories.has(path);
}
