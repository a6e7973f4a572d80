/** `wispr rollback`: the documents of an earlier publication again, as a new, higher publication, while their objects are kept. */
import { copyFile, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
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
import { makeDirectory } from '../../node-support/make-directory.ts';
import { readPage } from '../../teaser/page.ts';
import { runIn, whileHolding } from '../authority/publishing-run.ts';
import { PublishError } from '../errors.ts';
import { appearanceOf } from '../protect/appearance.ts';
import { encodeTeaser } from '../protect/site-page.ts';
import { replaceOutputFile } from '../protect/writers/files.ts';
import { filesOf } from '../publication/files.ts';
import { heldIn } from '../publication/held.ts';
import {
  missing,
  openSnapshot,
  readSnapshot,
  type SignedSnapshot,
  type SnapshotPublication,
} from '../publication/signed.ts';
import {
  comparison,
  type DocumentChanges,
  differingLists,
  type Entries,
  gone,
  type Lists,
  readLists,
  rebinned,
  refused,
} from './earlier-lists.ts';
import { checkMadeHere } from './elsewhere.ts';
import { findHighest } from './highest.ts';
import { type PublishSummary, publishSite } from './publish.ts';
import { claimVersion, type Site, signSnapshot } from './site.ts';

export interface RollbackPlan extends DocumentChanges {
  /** The publication whose documents come back. */
  readonly to: number;
  readonly from: number;
}

export interface Rollback {
  readonly plan: RollbackPlan;
  readonly summary: PublishSummary;
}

/**
 * Publishes the documents of an earlier publication again. The index stays as it is, so the next `wispr protect` publishes the source, above this.
 *
 * @param version - the earlier publication. Default: the highest one below the current one with other documents that readers have had
 * @param confirm - shown what changes; rejects to give up
 * @throws PublishError `argument-invalid`, `publication-missing`, `signatures-missing`, `workspace-behind`; as `publishSite`
 */
export function rollBack(
  site: Site,
  version: number | undefined,
  confirm: (plan: RollbackPlan) => Promise<void>,
): Promise<Rollback> {
  return whileHolding(site.keyServer, runIn(site.workspace, site.index), () => rollBackHeld(site, version, confirm));
}

async function rollBackHeld(
  site: Site,
  version: number | undefined,
  confirm: (plan: RollbackPlan) => Promise<void>,
): Promise<Rollback> {
  const highest = await findHighest(site);
  const current = highest.snapshot;
  if (current === undefined) throw missing(site.out);
  await checkMadeHere(site, current, { merged: true }); // the person sees what changes
  checkSignsAlone(site);
  const old = await openEarlier(site, current, version);
  const before = await openSnapshot(current, site.output, site.roots);
  const to = old.signed.file.version;
  const differing = differingLists(old, before);
  const [then, today] = [await readLists(old, to, differing), await readLists(before, to, differing)];
  const plan = { from: current.file.version, to, ...comparison(then, today) };
  await checkKept(site, plan, then);
  await checkKeys(site, old, before, then);
  await confirm(plan);
  const bins = await rebinned(then, today, to, differing !== undefined);
  const isDone = bins.size === 0 && !current.snapshot.closed; // a target may lack it
  const snapshot = isDone ? current : await sign(site, before, bins);
  const touched = await pagesToPlace(site, plan, then);
  keepUntilNext(site, plan, then, touched);
  await placePages(site, touched, then);
  const rolledBack = { from: current.file.sha256, paths: touched, removed: plan.removed };
  try {
    return { plan, summary: await publishSite(site, highest, { snapshot, rolledBack }) };
  } finally {
    // Pages here are not those of the source: no later upload takes them.
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
      { typed: true, fields: { version } },
    );
  const held = heldIn(site.index);
  if (version !== undefined && held.has(version)) throw refused(version, 'was held back, and never sent');
  let withdrawn: number | undefined;
  for (const number of version === undefined ? earlier.filter((each) => !held.has(each)) : [version]) {
    const signed = await readSnapshot(number, output, roots);
    if (current.snapshot.closed && signed && !signed.snapshot.closed) withdrawn ??= number;
    const isOther = signed && !signed.snapshot.closed && !hasSameLists(signed, current);
    if (signed && (isOther || version !== undefined))
      return openSnapshot(signed, output, roots).catch(() => Promise.reject(gone(number)));
  }
  if (version !== undefined) throw gone(version);
  const same = withdrawn === undefined ? '' : `; \`wispr rollback ${withdrawn}\` shows the withdrawn ones again`;
  throw new PublishError('publication-missing', `${out} has no earlier publication with other documents${same}`);
}

function hasSameLists(a: SignedSnapshot, b: SignedSnapshot): boolean {
  return [...b.snapshot.roles].every(([name, { sha256 }]) => a.snapshot.roles.get(name)?.sha256 === sha256);
}

/** Checks that `out` has what comes back; other documents are those of the current publication. @throws PublishError `publication-missing` */
async function checkKept({ out }: Site, { added, changed, to }: RollbackPlan, { documents }: Lists): Promise<void> {
  for (const each of [...added, ...changed]) {
    const document = documents.get(each);
    if (document?.entry.inPage) throw gone(to, each); // the object lay in the page, which has been replaced
    for (const { path, immutable } of document ? filesOf(document) : [])
      if (immutable && !(await isFile(join(out, path)))) throw gone(to, path);
  }
}

/**
 * Keys are replaced because others may have them, and new readers are given the current ones alone.
 *
 * @throws PublishError `publication-missing`
 */
async function checkKeys(
  { store }: Site,
  old: SnapshotPublication,
  before: SnapshotPublication,
  { documents }: Lists,
): Promise<void> {
  const keys = [...store.contents.sets.values(), ...store.contents.kept.map(({ key }) => key)];
  const known = new Set(await Promise.all(keys.map((key) => keyIdOf('set', key))));
  const isReplaced = [...documents.values()].some(({ entry: { set } }) => set !== undefined && !known.has(set));
  if (isReplaced || (await publisherKeyOf(old)) !== (await publisherKeyOf(before)))
    throw refused(old.signed.file.version, 'was made with keys that have been replaced since');
}

async function publisherKeyOf({ state, source, signed }: SnapshotPublication): Promise<string> {
  const target = state.targets.target(DESCRIPTOR_TARGET);
  const bytes = target && (await source.read(targetFile(DESCRIPTOR_TARGET, target.sha256), target.length));
  if (!bytes) throw gone(signed.file.version, DESCRIPTOR_TARGET);
  return (await verifyDescriptor(bytes, 0)).publisherKey;
}

async function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** Signs the lists that differ from those before, under the current keys, and the snapshot; all of it durably in `out`. */
async function sign(
  site: Site,
  before: SnapshotPublication,
  bins: ReadonlyMap<string, Entries>,
): Promise<SignedSnapshot> {
  const { store, now, out } = site;
  const version = await claimVersion(site, before.signed.file.version);
  const about = { version, expires: now() + ROLE_VALIDITY.targets };
  const files = new Map(before.state.snapshot.roles as ReadonlyMap<string, FileFacts>); // verified strictly: all have length and hash
  for (const [name, entries] of bins) {
    const bytes = signMetadata(binMetadata(about, entries), [store.signers.targets]);
    await replaceOutputFile(join(out, METADATA_PATH, metadataFile(name, version)), bytes, { sync: true });
    files.set(name, await factsOf(version, bytes));
  }
  return signSnapshot(site, snapshotMetadata({ version, expires: now() + ROLE_VALIDITY.snapshot }, files));
}

/** Finds documents whose own names are to have another file than that of the source, or none; also those of a rollback that left a target behind. */
async function pagesToPlace(
  { out, index }: Site,
  { added, changed, removed }: RollbackPlan,
  { documents }: Lists,
): Promise<string[]> {
  const paths = new Set([...added, ...changed, ...removed]);
  const placed = index.placedPaths();
  for (const { path, entry } of documents.values()) {
    const hasPage = entry.content !== undefined || path.endsWith('.html');
    if (hasPage && !placed.has(path) && !(await isFile(join(out, path)))) paths.add(path);
  }
  return [...paths];
}

/**
 * Notes what the next run of protect has to put right, also if this one is killed; and what is old from then on: the time after which `out` loses it
 * begins with the next run.
 */
function keepUntilNext(
  { index }: Site,
  { added, changed }: RollbackPlan,
  { documents }: Lists,
  touched: readonly string[],
): void {
  index.transaction(() => {
    for (const path of touched) {
      const row = index.findFiles(path);
      if (row) index.setPlaced(row.id, undefined);
      else index.retire(path, true);
    }
    for (const document of [...added, ...changed].flatMap((path) => documents.get(path) ?? [])) {
      for (const { path, immutable } of filesOf(document)) {
        if (!immutable || !index.isRetired(path)) continue;
        index.unretire(path);
        index.retire(path, false);
      }
    }
  });
}

/** Puts copies of public documents to their own names, and plain fallback pages for the others: what an excerpt said then is not known any more. */
async function placePages(
  { out, configuration, workspace, store }: Site,
  touched: readonly string[],
  { documents }: Lists,
): Promise<void> {
  const appearance = await appearanceOf(configuration, workspace.directory, store.rootId);
  // The sources are not looked at: a page that was to stay out of indexes may be among them.
  const teaser = encodeTeaser(readPage(Buffer.from('<meta name="robots" content="noindex">')).teaser, []);
  for (const path of touched) {
    const document = documents.get(path);
    const content = document?.entry.content;
    const copied = content && join(out, targetFile(contentTargetOf(path), content));
    // Files are written beside and renamed: a copy may be a hard link to the content, which would be written through it.
    await makeDirectory(dirname(join(out, path)));
    if (copied) await replaceCopy(join(out, path), (temporary) => copyFile(copied, temporary), { durable: false });
    else if (document && path.endsWith('.html'))
      await replaceOutputFile(join(out, path), Buffer.from(appearance.fallbackPage(path, teaser)));
    else await rm(join(out, path), { force: true });
  }
}
