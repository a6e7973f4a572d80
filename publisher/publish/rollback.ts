/** `wispr rollback`: the documents of an earlier publication again, as a new, higher publication, while their objects are kept. */
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { binFor, binNames, DOCUMENTS_ROLE, pathHashOf } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import type { SuccinctDelegation, TargetInfo } from '../../core/publication/metadata.ts';
import {
  contentTargetOf,
  DESCRIPTOR_TARGET,
  METADATA_PATH,
  metadataFile,
  targetFile,
} from '../../core/publication/names.ts';
import {
  binMetadata,
  type FileFacts,
  factsOf,
  ROLE_VALIDITY,
  signMetadata,
  snapshotMetadata,
} from '../../core/publication/writer.ts';
import { replaceFile as replaceCopy } from '../../node-support/files/write-file.ts';
import { PublishError } from '../errors.ts';
import { appearanceOf } from '../protect/appearance.ts';
import { encodeTeaser } from '../protect/site-page.ts';
import { replaceOutputFile } from '../protect/writers/files.ts';
import { filesOf } from '../publication/files.ts';
import { contentsOf, delegatedRoles, type PublishedDocument } from '../publication/roles.ts';
import {
  missing,
  openSnapshot,
  readSnapshot,
  type SignedSnapshot,
  type SnapshotPublication,
  signedSnapshot,
} from '../publication/signed.ts';
import { findHighest } from './highest.ts';
import { type PublishSummary, publishSite } from './publish.ts';
import { claimVersion, keepSnapshot, type Site } from './site.ts';

/** What a rollback changes for readers. */
export interface RollbackPlan {
  /** The publication whose documents come back. */
  readonly to: number;
  /** The current one. */
  readonly from: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export interface Rollback {
  readonly plan: RollbackPlan;
  readonly summary: PublishSummary;
}

/**
 * Publishes the documents of an earlier publication again. The index stays as it is, so the next `wispr protect` publishes the source, above this.
 *
 * @param version - the earlier publication. Default: the highest one below the current one with other documents
 * @param confirm - shown what changes; rejects to give up
 * @throws PublishError `argument-invalid`, `publication-missing`, `signatures-missing`; as `publishSite`
 */
export async function rollBack(
  site: Site,
  version: number | undefined,
  confirm: (plan: RollbackPlan) => Promise<void>,
): Promise<Rollback> {
  const highest = await findHighest(site);
  const current = highest.snapshot;
  if (current === undefined) throw missing(site.out);
  checkSignsAlone(site);
  const old = await openEarlier(site, current, version);
  const before = await openSnapshot(current, site.output, site.roots);
  const [documentsThen, documentsNow] = [await readLists(old, old), await readLists(before, old)];
  const plan = comparison(old.signed, current, documentsThen, documentsNow);
  await checkKept(site, plan, documentsThen);
  await checkKeys(site, { old, before }, documentsThen);
  await confirm(plan);
  const snapshot = await sign(site, current, before, { documentsThen, documentsNow });
  site.index.setFact('pages', 'rollback'); // the next run of protect places every page again, also if this one is killed
  const touched = await placePages(site, plan, documentsThen);
  keepLonger(site, documentsThen);
  try {
    return { plan, summary: await publishSite(site, highest, { snapshot }) };
  } finally {
    // They are not those of the source: no later upload takes them.
    if (site.targets.length > 0) for (const path of touched) await rm(join(site.out, path), { force: true });
  }
}

/** @throws PublishError `signatures-missing` where lists of documents need more signers than this workspace */
function checkSignsAlone({ roots: [root] }: Site): void {
  const { threshold } = root.roles.targets;
  if (threshold < 2) return;
  throw new PublishError(
    'signatures-missing',
    `targets needs ${threshold} signatures: publish the earlier documents from the source instead`,
  );
}

/** The entries of each list, by target path, and the documents that they name. */
interface Lists {
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, TufObject>>;
  readonly documents: ReadonlyMap<string, PublishedDocument>;
  /** How documents are divided into bins. */
  readonly bins: SuccinctDelegation | undefined;
}

async function openEarlier(
  site: Site,
  current: SignedSnapshot,
  version: number | undefined,
): Promise<SnapshotPublication> {
  const { output, roots, out } = site;
  const names = await readdir(join(out, METADATA_PATH));
  const numbers = names.map((name) => Number(/^(\d+)\.snapshot\.json$/.exec(name)?.[1] ?? 0));
  const earlier = numbers.filter((number) => number > 0 && number < current.file.version).sort((a, b) => b - a);
  if (version !== undefined && version >= current.file.version)
    throw new PublishError(
      'argument-invalid',
      `publication ${version} is not an earlier one; the current one is ${current.file.version}`,
      {
        typed: true,
        fields: { version },
      },
    );
  for (const number of version === undefined ? earlier : [version]) {
    const signed = await readSnapshot(number, output, roots);
    const isOther = signed && !signed.snapshot.closed && !hasSameLists(signed, current);
    if (signed && (isOther || version !== undefined))
      return openSnapshot(signed, output, roots).catch(() => Promise.reject(gone(number)));
  }
  if (version !== undefined) throw gone(version);
  throw new PublishError('publication-missing', `${out} has no earlier publication with other documents`);
}

function hasSameLists(a: SignedSnapshot, b: SignedSnapshot): boolean {
  return [...b.snapshot.roles].every(([name, { sha256 }]) => a.snapshot.roles.get(name)?.sha256 === sha256);
}

/** @throws PublishError `publication-missing` if a list is not kept any more */
async function readLists(publication: SnapshotPublication, { signed }: SnapshotPublication): Promise<Lists> {
  const entries = new Map<string, ReadonlyMap<string, TufObject>>();
  const documents = new Map<string, PublishedDocument>();
  let bins: SuccinctDelegation | undefined;
  for await (const delegated of delegatedRoles(publication)) {
    const { role, name } = delegated;
    if (role === undefined) throw gone(signed.file.version, name);
    bins = role.bins ?? bins;
    entries.set(name, new Map(role.targetPaths().map((path) => [path, entryOf(role.target(path) as TargetInfo)])));
    for (const document of (await contentsOf(delegated)).documents) documents.set(document.path, document);
  }
  return { entries, documents, bins };
}

function entryOf({ length, sha256, custom }: TargetInfo): TufObject {
  return { ...(custom && { custom }), hashes: { sha256 }, length };
}

function comparison(old: SignedSnapshot, current: SignedSnapshot, then: Lists, now: Lists): RollbackPlan {
  const isSame = (path: string) =>
    JSON.stringify(then.documents.get(path)?.entry) === JSON.stringify(now.documents.get(path)?.entry);
  const paths = [...then.documents.keys()].sort();
  return {
    to: old.file.version,
    from: current.file.version,
    added: paths.filter((path) => !now.documents.has(path)),
    removed: [...now.documents.keys()].filter((path) => !then.documents.has(path)).sort(),
    changed: paths.filter((path) => now.documents.has(path) && !isSame(path)),
  };
}

/** @throws PublishError `publication-missing` */
async function checkKept({ out }: Site, { added, changed, to }: RollbackPlan, { documents }: Lists): Promise<void> {
  for (const document of documents.values()) {
    for (const { path, immutable } of filesOf(document)) {
      if (immutable && !(await isFile(join(out, path)))) throw gone(to, path);
    }
  }
  const inPage = [...added, ...changed].find((path) => documents.get(path)?.entry.inPage);
  if (inPage !== undefined) throw gone(to, inPage); // the object lay in the page, which has been replaced
}

/**
 * Keys are replaced because others may have them, and new readers are given the current ones alone.
 *
 * @throws PublishError `publication-missing`
 */
async function checkKeys(
  { store }: Site,
  { old, before }: { readonly old: SnapshotPublication; readonly before: SnapshotPublication },
  { documents }: Lists,
): Promise<void> {
  const keys = [...store.contents.sets.values(), ...store.contents.kept.map(({ key }) => key)];
  const known = new Set(await Promise.all(keys.map((key) => keyIdOf('set', key))));
  const isReplaced = [...documents.values()].some(({ entry: { set } }) => set !== undefined && !known.has(set));
  if (isReplaced || (await publisherKeyOf(old)) !== (await publisherKeyOf(before)))
    throw keysReplaced(old.signed.file.version);
}

/** The key that signed the documents of a publication. */
async function publisherKeyOf({ state, place, signed }: SnapshotPublication): Promise<string> {
  const target = state.targets.target(DESCRIPTOR_TARGET);
  const bytes = target && (await place.read(targetFile(DESCRIPTOR_TARGET, target.sha256), target.length));
  if (!bytes) throw gone(signed.file.version, DESCRIPTOR_TARGET);
  return (await verifyDescriptor(bytes, 0)).publisherKey;
}

/** Whether something lies at the document's own name. */
function hasPage(path: string, { content }: DocumentEntry): boolean {
  return content !== undefined || path.endsWith('.html');
}

async function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * Signs the lists that differ from the current ones, under the current keys, and the snapshot; all of it durably in `out`. Where nothing differs, the
 * current publication is finished: it may be missing at a target.
 */
async function sign(
  site: Site,
  current: SignedSnapshot,
  before: SnapshotPublication,
  { documentsThen, documentsNow }: { readonly documentsThen: Lists; readonly documentsNow: Lists },
): Promise<SignedSnapshot> {
  const { store, now, out, roots } = site;
  const bins = await rebinned(documentsThen, documentsNow);
  if (bins.size === 0 && !current.snapshot.closed) return current;
  const { signers } = store;
  const version = await claimVersion(site, current.file.version);
  const about = { version, expires: now() + ROLE_VALIDITY.targets };
  const files = new Map(before.state.snapshot.roles as ReadonlyMap<string, FileFacts>); // verified strictly: all have length and hash
  for (const [name, entries] of bins) {
    const bytes = signMetadata(binMetadata(about, entries), [signers.targets]);
    await replaceOutputFile(join(out, METADATA_PATH, metadataFile(name, version)), bytes, { sync: true });
    files.set(name, await factsOf(version, bytes));
  }
  const snapshot = snapshotMetadata({ version, expires: now() + ROLE_VALIDITY.snapshot }, files);
  const signed = await signedSnapshot(signMetadata(snapshot, [signers.snapshot]), roots);
  if (signed === undefined) throw new Error('the key store signs under its own root');
  await keepSnapshot(site, signed);
  return signed;
}

/** The bins that differ, divided as they are now. @throws PublishError `publication-missing` if a section has changed */
async function rebinned(then: Lists, now: Lists): Promise<Map<string, Map<string, TufObject>>> {
  const { bins: division } = now;
  if (division === undefined) throw new Error('every publication has bins');
  const bins = new Map(binNames(division.bits).map((name) => [name, new Map<string, TufObject>()]));
  for (const [name, entries] of then.entries) {
    if (isBin(name)) {
      for (const [path, entry] of entries) bins.get(binFor(await pathHashOf(path), division))?.set(path, entry);
    } else if (name !== DOCUMENTS_ROLE && !isSameList(entries, now.entries.get(name))) throw sectionChanged(name);
  }
  for (const name of now.entries.keys()) if (!isBin(name) && !then.entries.has(name)) throw sectionChanged(name);
  for (const [name, entries] of bins) if (isSameList(entries, now.entries.get(name))) bins.delete(name);
  return bins;
}

function isBin(name: string): boolean {
  return name.startsWith(`${DOCUMENTS_ROLE}-`);
}

function isSameList(a: ReadonlyMap<string, TufObject>, b: ReadonlyMap<string, TufObject> | undefined): boolean {
  const text = (list: ReadonlyMap<string, TufObject>) => JSON.stringify([...list].sort(([x], [y]) => (x < y ? -1 : 1)));
  return b !== undefined && text(a) === text(b);
}

/**
 * Puts copies of public documents to their own names, and plain fallback pages for the others: what an excerpt said then is not known any more.
 *
 * @returns the paths that were written or removed
 */
async function placePages(
  { out, configuration, workspace, store }: Site,
  { added, changed, removed }: RollbackPlan,
  { documents }: Lists,
): Promise<string[]> {
  const appearance = await appearanceOf(configuration, workspace.directory, store.rootId);
  const teaser = encodeTeaser({ ...NO_TEASER, openGraph: new Map(), excerpt: [] });
  for (const path of removed) await rm(join(out, path), { force: true });
  const lacking = [];
  for (const { path, entry } of documents.values())
    if (hasPage(path, entry) && !(await isFile(join(out, path)))) lacking.push(path); // removed by a rollback that left a target behind
  for (const path of new Set([...added, ...changed, ...lacking])) {
    const content = documents.get(path)?.entry.content;
    const copied = content && join(out, targetFile(contentTargetOf(path), content));
    // Beside and renamed: a copy may be a hard link to the content, which would be written through it.
    await mkdir(dirname(join(out, path)), { recursive: true });
    if (copied) await replaceCopy(join(out, path), (temporary) => copyFile(copied, temporary));
    else if (path.endsWith('.html'))
      await replaceOutputFile(join(out, path), Buffer.from(appearance.fallbackPage(path, teaser)));
    else await rm(join(out, path), { force: true });
  }
  return [...added, ...changed, ...removed, ...lacking];
}

const NO_TEASER = { title: '', description: '', language: '', direction: '', canonical: '' };

/** The time after which `out` loses old objects begins with the next run: until then they are in use. */
function keepLonger({ index }: Site, { documents }: Lists): void {
  index.transaction(() => {
    for (const document of documents.values()) {
      for (const { path, immutable } of filesOf(document)) {
        if (!immutable || !index.isRetired(path)) continue;
        index.unretire(path);
        index.retire(path, false);
      }
    }
  });
}

function gone(version: number, what?: string): PublishError {
  const message = `publication ${version} is not kept ${what === undefined ? 'any more' : `whole any more: ${what} is missing`}`;
  return new PublishError('publication-missing', message, { fields: { version } });
}

function keysReplaced(version: number): PublishError {
  const message = `publication ${version} was made with keys that have been replaced since`;
  return new PublishError('publication-missing', message, { fields: { version } });
}

function sectionChanged(name: string): PublishError {
  return new PublishError(
    'publication-missing',
    `the section ${name} has changed since: a rollback does not sign for sections`,
  );
}
