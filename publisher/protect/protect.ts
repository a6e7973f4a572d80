/**
 * `wispr protect`: makes the protected form of a site, or brings it up to date: docs/spec/publication.md, section 8. The output is changed in
 * place, in an order that leaves the previous publication readable until the very last step; whatever interrupts it, the next run goes on.
 */
import { join } from 'node:path';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { ownTargetsOf } from '../../core/publication/names.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { bootId } from '../../node-support/boot.ts';
import { readIfThere } from '../keys/file-update.ts';
import { recipientFileOf } from '../keys/hand-over.ts';
import type { LostIndex, PublisherIndex } from '../workspace/index/publisher-index.ts';
import { withLock } from '../workspace/workspace.ts';
import { pruneOutput, removeFiles } from './files.ts';
import { noteKeyStore, RunKeys, type SecuredKeys, secureKeys } from './keys.ts';
import { locate, openWhileLooking, type Place } from './locate.ts';
import { type ProtectOptions, prepare, type Run, stopper } from './prepare.ts';
import { type PublicationSummary, publish } from './publication.ts';
import { checkSigners, type PublicationContext } from './signing-plan.ts';
import { countChanges, type ProtectSummary, publicByReason, sectionsOf } from './summary.ts';
import { placeDocuments, type TaskContext, type TasksDone, writeDocuments } from './tasks.ts';
import { replaceOutputFile } from './writers/files.ts';
import { DocumentWriters } from './writers/writers.ts';

export type { ProtectOptions } from './prepare.ts';

/** Seconds beyond freshness and grace for which files are kept that no publication names: clocks differ, and uploads take time. */
const MARGIN = 86_400;

/**
 * Protects a site.
 *
 * @throws PublishError; the publication that was visible before is then as it was
 */
export async function protectSite(options: ProtectOptions): Promise<ProtectSummary> {
  const place = await locate(options);
  return withLock(place.workspace, (index) => protectLocked(place, index, options));
}

async function protectLocked(place: Place, index: PublisherIndex, options: ProtectOptions): Promise<ProtectSummary> {
  const started = performance.now();
  const store = await openWhileLooking(place, options.passphrase);
  const keys = await RunKeys.of(store, place.workspace);
  const { lost } = index;
  const known = keys.contents.publication;
  const run = await prepare(place, keys, index, options);
  const done = await carryOut(run, options);
  return summarise(run, done, recoveredFrom(run, lost, known), performance.now() - started);
}

/** Where `wispr publish` brings the site to targets, it has the timestamp signed when the files are there. */
function signsTimestamp({ configuration }: Run, { timestamp }: ProtectOptions): boolean {
  return timestamp !== 'later' && configuration.publish === undefined;
}

/** What a run came to. */
interface Done {
  readonly secured: SecuredKeys;
  readonly tasks: TasksDone;
  readonly publication: PublicationSummary;
  readonly pruned: number;
}

/** The order of docs/spec/publication.md, section 8. */
async function carryOut(run: Run, options: ProtectOptions): Promise<Done> {
  const { index, out, plan, sections, now, settings } = run;
  await begin(run);
  const heldBack = sections.setsHeldBack(index);
  const isAsked = (options.rekey?.length ?? 0) > 0;
  const secured = await secureKeys({ ...run, isAsked, sets: plan.sets.keys(), rings: sections.made, heldBack });
  if (run.recipient) await options.handOverKeys?.(run.workspace.bundle);
  const context = publicationOf(run, secured, signsTimestamp(run, options));
  const tasks = await writeAndPlace(run, options, context);
  await putIfDifferent(join(out, DESCRIPTOR_PATH), secured.descriptor);
  const publication = await publish(context);
  index.startWaiting(now);
  index.setFact('boot', bootId());
  index.setFact('pages', 'protect');
  await noteKeyStore(index, run.workspace);
  const keepFor = context.freshFor + settings.grace + MARGIN;
  return { secured, tasks, publication, pruned: pruneOutput(out, index, now - keepFor) };
}

function publicationOf(run: Run, { descriptor }: SecuredKeys, signsTimestamp: boolean): PublicationContext {
  const ownTargets = ownTargetsOf({ descriptor, settings: encodeSettings(run.settings) });
  return { ...run, ownTargets, signsTimestamp, freshFor: run.configuration.freshness.hours * 3600 };
}

/** The host proof first: it tells the next run whose the directory is, should this one be interrupted. */
async function begin({ out, roles, output, index, keys }: Run): Promise<void> {
  await putIfDifferent(join(out, HOST_PROOF_PATH), utf8(`${hostProofLine(roles.rootId)}\n`));
  removeFiles(out, output.unfinished); // what an interrupted run had begun
  index.transaction(() => {
    index.setFact('publisher', keys.store.publisher.id);
    index.setFact('root', roles.rootId);
  });
}

async function writeAndPlace(
  run: Run,
  { onProgress, signal }: ProtectOptions,
  publication: PublicationContext,
): Promise<TasksDone> {
  const { appearance, configuration, index, keys, output, out, plan, sections } = run;
  const total = index.countTasks();
  const sets = new Map(keys.sets().map(({ id, key }) => [id, key]));
  const { publisher } = keys.store;
  const writers = new DocumentWriters({ out, site: configuration.site, publisher, sets }, signal);
  const context: TaskContext = {
    ...{ index, output, writers, appearance, sections },
    setIdOf: (name) => keys.idOf(name) ?? missingKey(name),
    onDone: (done) => onProgress?.({ stage: 'writing', done, total }),
  };
  try {
    onProgress?.({ stage: 'writing', done: 0, total });
    const done = await writeDocuments(context);
    stopper(signal)();
    await checkSigners(publication); // before browsers are shown pages of a publication that cannot be signed
    if (plan.documents > 0) await placeDocuments(context);
    return done;
  } finally {
    await writers.close();
  }
}

/** What has not changed keeps its time stamp. */
async function putIfDifferent(file: string, bytes: Uint8Array): Promise<void> {
  if (!(await readIfThere(file))?.equals(bytes)) replaceOutputFile(file, bytes);
}

/** What was found to be missing or older, and what was done about it. */
function recoveredFrom({ workspace, output, areKeysOlder }: Run, lost: LostIndex | undefined, known: number): string[] {
  return [
    ...(lost && !output.isEmpty ? [`${workspace.database} is ${lost}: every document is written again`] : []),
    ...(areKeysOlder
      ? [
          `publisher.keys is older than the last publication (it knows publication ${known}): every set has a new key; repeat what you changed since with "wispr keys"`,
        ]
      : []),
  ];
}

function missingKey(set: string): never {
  throw new Error(`the set ${set} of the plan has no key`);
}

function summarise(run: Run, done: Done, recovered: readonly string[], milliseconds: number): ProtectSummary {
  const { configuration, index, keys, plan, out, recipient, roles, workspace } = run;
  const { bytesIn, bytesOut, pageBytes } = index.totals();
  const rekeyed = new Set(index.setsOf('rekeyed'));
  return {
    site: configuration.site,
    publisher: roles.rootId,
    publisherKey: keys.store.publisher.id,
    out,
    documents: plan.documents,
    changes: countChanges(plan, done.tasks.unchanged),
    reasons: done.tasks.reasons,
    sets: Array.from(plan.sets, ([name, documents]) => {
      const isNew = done.secured.made.has(name);
      const id = keys.idOf(name) ?? missingKey(name);
      return { name, id, documents, isNew, isRekeyed: rekeyed.has(name) };
    }),
    sections: sectionsOf(plan),
    public: publicByReason(plan),
    ignored: plan.ignored,
    bytesIn,
    bytesOut,
    pageBytes,
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
