/**
 * `wispr protect`: makes the protected form of a site, or brings it up to date: docs/spec/publication.md, section 8. The output is changed in
 * place, in an order that leaves the publication before readable until the very last step; whatever interrupts it, the next run goes on.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { utf8 } from '../../core/encoding/bytes.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH, hostProofLine } from '../../core/keys/descriptor.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { encodeSettings, type SiteSettings } from '../../core/publication/settings.ts';
import type { Configuration } from '../configuration/schema.ts';
import { PublishError } from '../errors.ts';
import { asPublishError, openIndex } from '../index/open.ts';
import type { PublisherIndex } from '../index/publisher-index.ts';
import { readIfThere } from '../keys/file-update.ts';
import { readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { siteSettingsOf } from '../site/site-settings.ts';
import { withLock } from '../workspace.ts';
import { type Appearance, appearanceOf } from './appearance.ts';
import { gatherSignatures, removeOldDrafts } from './gather.ts';
import { checkRekey, RunKeys, type SecuredKeys, secureKeys, setsDueForRekey } from './keys.ts';
import { locate, openWhileLooking, type Place, type PlaceOptions } from './locate.ts';
import { type InspectedOutput, inspectOutput } from './output.ts';
import { makePlan, type Plan } from './plan.ts';
import { pruneOutput, removeUnfinished } from './prune.ts';
import { type Gathered, type PublicationContext, type PublicationSummary, publish } from './publication.ts';
import { replaceOutputFile } from './replace-output-file.ts';
import { type PublicationRoles, rolesOf } from './roles.ts';
import { checkUseful, RunSections } from './sections.ts';
import {
  changedPaths,
  countChanges,
  type DryRunSummary,
  type ProtectSummary,
  publicByReason,
  sectionsOf,
} from './summary.ts';
import { placeDocuments, type TaskContext, type TasksDone, writeDocuments } from './tasks.ts';
import { noteWhole } from './whole-files.ts';
import { SpareThreads } from './writers/spare-threads.ts';
import { startDocumentWriters } from './writers/writers.ts';

export interface DryRunOptions extends PlaceOptions {
  /** Names of sets that get a new key. */
  readonly rekey?: readonly string[];
  /** Called as the work goes on. */
  readonly onProgress?: (progress: Progress) => void;
  /** Stops the run; the publication before stays as it is. */
  readonly signal?: AbortSignal;
}

export interface ProtectOptions extends DryRunOptions {
  readonly passphrase: string;
  /** Threads that were started already; whoever started them ends those that are left. */
  readonly spare?: SpareThreads | undefined;
  /** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
  readonly signers?: readonly RoleSigner[];
  /** Called with the path of a new key bundle once it is on the disk, and before anything that needs its keys can be seen. */
  readonly handOverKeys?: (bundle: string) => Promise<void>;
}

export interface Progress {
  /** `looking`: at the site, whose size is not known yet. `writing`: documents. */
  readonly stage: 'looking' | 'writing';
  /** Documents. */
  readonly done: number;
  /** `undefined` while nobody knows. */
  readonly total: number | undefined;
}

/** Seconds beyond freshness and grace for which files are kept that no publication names: clocks differ, and uploads take time. */
const MARGIN = 86_400;

/**
 * Protects a site.
 *
 * @throws PublishError; the publication that was visible before is then as it was
 */
export async function protectSite(options: ProtectOptions): Promise<ProtectSummary> {
  const started = performance.now();
  const place = await locate(options);
  return withLock(place.workspace, async () => {
    // Without an index everything is written, as far as anybody can tell yet.
    await using own = options.spare || existsSync(place.workspace.index) ? undefined : new SpareThreads();
    const store = await openWhileLooking(place, options.passphrase);
    const keys = await RunKeys.of(store, place.workspace);
    const { index, notes } = openIndex(place.workspace.index);
    using _closing = index;
    try {
      const run = await prepare(place, keys, index, options);
      const done = await carryOut(run, options, options.spare ?? own);
      return summarise(run, done, notes, performance.now() - started);
    } catch (error) {
      throw asPublishError(error, place.workspace.index);
    }
  });
}

/**
 * Says what {@link protectSite} would do, and changes nothing. It needs no passphrase, so it cannot see a key store that was changed.
 *
 * @param limit - how many paths of each kind are named; all, if left out
 */
export async function planSite(options: DryRunOptions, limit?: number): Promise<DryRunSummary> {
  const { workspace, configuration, source, walk, out, now } = await locate(options);
  const { index } = openIndex(workspace.index, { readOnly: true });
  using _closing = index;
  const checkNotStopped = stopper(options.signal);
  const publisher = index.fact('publisher') ?? '';
  const output = await inspectOutput(out, index, publishersOf(index), { readOnly: true, checkNotStopped });
  const sets = index.setIds();
  const since = (name: string) => index.keySince(sets.get(name) ?? '');
  const due = dueForRekey(configuration, sets.keys(), since, now, options.rekey);
  const sections = await RunSections.of(configuration, index);
  const context = { source, walk, configuration, index, output, sections, rekey: due, checkNotStopped, readOnly: true };
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const plan = await makePlan({ ...context, appearance, setIdOf: () => undefined });
  siteSettingsOf(configuration, (path) => index.planned(path));
  checkRekey(options.rekey ?? [], plan.sets);
  return {
    site: configuration.site,
    out,
    documents: plan.documents,
    changes: countChanges(plan),
    paths: changedPaths(index, limit ?? -1),
    sets: Array.from(plan.sets, ([name, documents]) => ({ name, documents })),
    sections: sectionsOf(plan),
    public: publicByReason(plan),
    ignored: plan.ignored,
    unusedPatterns: plan.unusedPatterns,
  };
}

/** A run, once everything that could be refused is known to be good. */
interface Run extends Place {
  readonly keys: RunKeys;
  readonly roles: PublicationRoles;
  readonly sections: RunSections;
  readonly index: PublisherIndex;
  readonly output: InspectedOutput;
  readonly appearance: Appearance;
  readonly plan: Plan;
  readonly settings: SiteSettings;
  readonly rekey: ReadonlySet<string>;
  readonly recipient: Uint8Array | undefined;
}

async function prepare(place: Place, keys: RunKeys, index: PublisherIndex, options: ProtectOptions): Promise<Run> {
  const { workspace, configuration, source, walk, out, now } = place;
  const checkNotStopped = stopper(options.signal);
  const publisher = keys.store.publisher.id;
  const roles = rolesOf(keys.store, options.signers);
  const sections = await RunSections.of(configuration, index, keys.contents.sections, options.signers);
  checkUseful(options.signers ?? [], roles, sections);
  const recipient = await readRecipient(recipientFileOf(workspace, configuration));
  const output = await inspectOutput(out, index, [roles.rootId, publisher], { readOnly: false, checkNotStopped });
  sections.settle(index, output.metadata, publisher);
  const { setsSince } = keys.contents;
  const rekey = dueForRekey(configuration, setsSince.keys(), (name) => setsSince.get(name), now, options.rekey);
  const onFound = (done: number) => options.onProgress?.({ stage: 'looking', done, total: undefined });
  const about = { source, walk, configuration, index, output, sections };
  const context = { ...about, rekey, checkNotStopped, onFound, readOnly: false };
  const setIdOf = (name: string) => keys.idOf(name);
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const plan = await makePlan({ ...context, appearance, setIdOf });
  checkRekey(options.rekey ?? [], plan.sets);
  const settings = siteSettingsOf(configuration, (path) => index.planned(path));
  return { ...place, keys, roles, sections, index, output, appearance, plan, settings, rekey, recipient };
}

/** What a run came to. */
interface Done {
  readonly secured: SecuredKeys;
  readonly tasks: TasksDone;
  readonly publication: PublicationSummary;
  readonly pruned: number;
}

/** The order of docs/spec/publication.md, section 8. */
async function carryOut(run: Run, options: ProtectOptions, spare: SpareThreads | undefined): Promise<Done> {
  const { index, out, plan, sections, now, settings } = run;
  await begin(run);
  const heldBack = sections.setsHeldBack(index);
  const secured = await secureKeys({ ...run, sets: plan.sets.keys(), rings: sections.made, heldBack });
  if (run.recipient) await options.handOverKeys?.(run.workspace.bundle);
  const context = publicationOf(run, secured);
  let gathered: Gathered | undefined;
  const tasks = await writeAndPlace(run, options, spare, async () => {
    gathered = await gatherSignatures(context, run.workspace);
  });
  await putPlainFiles(run, secured.descriptor);
  const publication = await publish(context, gathered);
  await removeOldDrafts(run.workspace, publication.version);
  index.startWaiting(now);
  noteWhole(index);
  const keepFor = context.freshFor + settings.grace + MARGIN;
  return { secured, tasks, publication, pruned: await pruneOutput(out, index, now - keepFor) };
}

function publicationOf(run: Run, { descriptor }: SecuredKeys): PublicationContext {
  const { index, keys, out, roles, sections, now, output, settings } = run;
  return {
    ...{
      out,
      index,
      roles,
      sections,
      now,
      publisher: keys.store.publisher.id,
      descriptor,
      settings: encodeSettings(settings),
    },
    freshFor: run.configuration.freshness.hours * 3600,
    metadata: output.metadata,
    ownTargets: output.ownTargets,
    lastVersion: keys.contents.publication,
    raiseVersion: (version) => keys.change({ ...keys.contents, publication: version }),
  };
}

/** The host proof first: it tells the next run whose the directory is, should this one be interrupted. */
async function begin({ out, roles, output, index, keys }: Run): Promise<void> {
  await putIfDifferent(join(out, HOST_PROOF_PATH), utf8(`${hostProofLine(roles.rootId)}\n`));
  await removeUnfinished(out, output.unfinished);
  index.setFact('publisher', keys.store.publisher.id);
  index.setFact('root', roles.rootId);
  index.setFact('roots', String(roles.roots.length));
}

/** @param beforePlacing - when all objects are there, and browsers without a reader still find what they found before */
async function writeAndPlace(
  run: Run,
  { onProgress, signal }: ProtectOptions,
  spare: SpareThreads | undefined,
  beforePlacing: () => Promise<void>,
): Promise<TasksDone> {
  const { appearance, configuration, index, keys, output, out, plan, sections } = run;
  const total = index.countTasks().count;
  const writers = startDocumentWriters({
    out,
    site: configuration.site,
    publisher: keys.store.publisher,
    sets: new Map(keys.sets().map(({ id, key }) => [id, key])),
    ...(signal && { signal }),
    spare,
  });
  const context: TaskContext = {
    ...{ index, output, writers, appearance, sections },
    setIdOf: (name) => keys.idOf(name) ?? missingKey(name),
    onDone: (done) => onProgress?.({ stage: 'writing', done, total }),
  };
  try {
    onProgress?.({ stage: 'writing', done: 0, total });
    const done = await writeDocuments(context);
    stopper(signal)();
    await beforePlacing();
    if (plan.documents > 0) await placeDocuments(context);
    return done;
  } finally {
    await writers.close();
  }
}

/** What browsers and other programs look for at names that stay. */
async function putPlainFiles({ out }: Run, descriptor: Uint8Array): Promise<void> {
  await putIfDifferent(join(out, DESCRIPTOR_PATH), descriptor);
}

/** What has not changed keeps its time stamp. */
async function putIfDifferent(file: string, bytes: Uint8Array): Promise<void> {
  if (!(await readIfThere(file))?.equals(bytes)) await replaceOutputFile(file, bytes);
}

/** Sets that get a new key: those that were named, and those whose time has come. */
function dueForRekey(
  configuration: Configuration,
  sets: Iterable<string>,
  since: (name: string) => number | undefined,
  now: number,
  named: readonly string[] = [],
): Set<string> {
  return new Set([...named, ...setsDueForRekey(configuration, sets, since, now)]);
}

/** The ids by which a host proof may name the publisher of this index. */
function publishersOf(index: PublisherIndex): string[] {
  return [index.fact('root'), index.fact('publisher')].filter((id) => id !== undefined);
}

/** @throws PublishError `stopped` */
function stopper(signal: AbortSignal | undefined): () => void {
  return () => {
    if (!signal?.aborted) return;
    throw new PublishError('stopped', 'stopped; readers find the publication before', {
      hint: 'run "wispr protect" again: it goes on where this run ended',
    });
  };
}

function missingKey(set: string): never {
  throw new Error(`the set ${set} of the plan has no key`);
}

function summarise(run: Run, done: Done, recovered: readonly string[], milliseconds: number): ProtectSummary {
  const { configuration, index, keys, plan, out, recipient, roles, workspace } = run;
  const { bytesIn, bytesOut } = index.totals();
  return {
    site: configuration.site,
    publisher: roles.rootId,
    publisherKey: keys.store.publisher.id,
    out,
    documents: plan.documents,
    changes: countChanges(plan, done.tasks.unchanged),
    sets: Array.from(plan.sets, ([name, documents]) => {
      return { name, id: keys.idOf(name) ?? missingKey(name), documents, isNew: done.secured.made.has(name) };
    }),
    sections: sectionsOf(plan),
    public: publicByReason(plan),
    ignored: plan.ignored,
    bytesIn,
    bytesOut,
    milliseconds: Math.round(milliseconds),
    publication: done.publication,
    pruned: done.pruned,
    waiting: index.countRetired(),
    bundle: recipient && workspace.bundle,
    bundleIsNew: done.secured.bundleIsNew,
    recipient: recipientFileOf(workspace, configuration),
    unusedPatterns: plan.unusedPatterns,
    recovered,
  };
}
