/**
 * `wispr protect`: makes the protected form of a site, or brings it up to date: docs/spec/publication.md, section 8. The output is changed in
 * place, in an order that leaves the publication before readable until the very last step; whatever interrupts it, the next run goes on.
 */
import { join } from 'node:path';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { asPublishError, type LostIndex, openIndex } from '../index/open.ts';
import { readIfThere } from '../keys/file-update.ts';
import { recipientFileOf } from '../keys/hand-over.ts';
import { withLock } from '../workspace.ts';
import { forgetMissing } from './forget-missing.ts';
import { noteKeyStore, RunKeys, type SecuredKeys, secureKeys } from './keys.ts';
import { locate, openWhileLooking } from './locate.ts';
import { describeOlderKeys } from './older-keys.ts';
import { type ProtectOptions, prepare, type Run, stopper } from './prepare.ts';
import { pruneOutput, removeUnfinished } from './prune.ts';
import { type PublicationSummary, publish } from './publication.ts';
import { replaceOutputFile } from './replace-output-file.ts';
import { noteSignedFiles } from './signed-files.ts';
import { checkSigners, type PublicationContext } from './signing-plan.ts';
import { countChanges, type ProtectSummary, publicByReason, sectionsOf } from './summary.ts';
import { placeDocuments, type TaskContext, type TasksDone, writeDocuments } from './tasks.ts';
import { noteWhole } from './whole-files.ts';
import { startDocumentWriters } from './writers/writers.ts';

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
    const store = await openWhileLooking(place, options);
    const keys = await RunKeys.of(store, place.workspace);
    const { index, lost } = openIndex(place.workspace.index);
    using _closing = index;
    try {
      const run = await prepare(place, keys, index, options);
      const done = await carryOut(run, options);
      return summarise(run, done, recoveredFrom(run, lost), performance.now() - started);
    } catch (error) {
      throw asPublishError(error, place.workspace.index);
    }
  });
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
  const { index, out, output, plan, sections, now, settings } = run;
  await begin(run);
  const heldBack = sections.setsHeldBack(index);
  const isAsked = (options.rekey?.length ?? 0) > 0;
  const secured = await secureKeys({ ...run, isAsked, sets: plan.sets.keys(), rings: sections.made, heldBack });
  if (run.recipient) await options.handOverKeys?.(run.workspace.bundle);
  const context = publicationOf(run, secured);
  const tasks = await writeAndPlace(run, options, context);
  await putPlainFiles(run, secured.descriptor);
  const publication = await publish(context);
  if (output.lacksOldFiles || plan.changes.restored > 0) forgetMissing(out, index);
  index.startWaiting(now);
  noteSignedFiles(out, index, output.signed, publication.isNew ? publication.version : undefined);
  noteWhole(index);
  await noteKeyStore(index, run.workspace);
  const keepFor = context.freshFor + settings.grace + MARGIN;
  return { secured, tasks, publication, pruned: await pruneOutput(out, index, now - keepFor) };
}

function publicationOf(run: Run, { descriptor }: SecuredKeys): PublicationContext {
  const { index, keys, out, roles, sections, now, output, settings } = run;
  const { metadata, ownTargets } = output;
  const newest = Math.max(output.newest, run.known);
  const own = { descriptor, settings: encodeSettings(settings) };
  return {
    ...{ out, index, roles, sections, now, metadata, newest, ownTargets, ...own },
    isAnother: output.signed.others !== undefined,
    publisher: keys.store.publisher.id,
    freshFor: run.configuration.freshness.hours * 3600,
    lastVersion: keys.contents.publication,
    withdrawn: run.withdrawn,
    raiseVersion: (version) => keys.change({ ...keys.contents, publication: version }),
  };
}

/** The host proof first: it tells the next run whose the directory is, should this one be interrupted. */
async function begin({ out, roles, output, index, keys }: Run): Promise<void> {
  await putIfDifferent(join(out, HOST_PROOF_PATH), utf8(`${hostProofLine(roles.rootId)}\n`));
  await removeUnfinished(out, output.unfinished);
  index.transaction(() => {
    index.setFact('publisher', keys.store.publisher.id);
    index.setFact('root', roles.rootId);
    index.setFact('roots', String(roles.roots.length));
  });
}

async function writeAndPlace(
  run: Run,
  { onProgress, signal, spare }: ProtectOptions,
  publication: PublicationContext,
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
    await checkSigners(publication); // before browsers are shown pages of a publication that cannot be signed
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

/** Where nothing was written before, no index is missed. */
function recoveredFrom({ workspace, out, output, olderKeys, keys }: Run, lost: LostIndex | undefined): string[] {
  return [
    ...(lost && !output.isEmpty ? [`${workspace.index} is ${lost}: every document is written anew`] : []),
    ...(output.signed.others && !lost
      ? [
          `${out} has another publication than was made here last: what is not as it should be is written and signed anew`,
        ]
      : []),
    ...(olderKeys ? describeOlderKeys(olderKeys, keys.contents) : []),
  ];
}

function missingKey(set: string): never {
  throw new Error(`the set ${set} of the plan has no key`);
}

function summarise(run: Run, done: Done, recovered: readonly string[], milliseconds: number): ProtectSummary {
  const { configuration, index, keys, plan, out, recipient, roles, workspace } = run;
  const { bytesIn, bytesOut, pageBytes, unknownPages } = index.totals();
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
      const isRekeyed = rekeyed.has(name) && !run.olderKeys?.shown.has(id);
      return { name, id, documents, isNew, isRekeyed };
    }),
    sections: sectionsOf(plan),
    public: publicByReason(plan),
    ignored: plan.ignored,
    bytesIn,
    bytesOut,
    pageBytes: unknownPages === 0 ? pageBytes : undefined,
    milliseconds: Math.round(milliseconds),
    publication: done.publication,
    pruned: done.pruned,
    waiting: index.countRetired(),
    bundle: recipient && workspace.bundle,
    bundleIsNew: done.secured.bundleIsNew,
    recipient: recipientFileOf(workspace, configuration),
    unusedPatterns: plan.unusedPatterns,
    recovered: [...recovered, ...returning(done.publication)],
  };
}

/** What was withdrawn shall not come back without a word. */
function returning({ version, mayRepeat }: PublicationSummary): string[] {
  if (mayRepeat === undefined) return [];
  return [
    `publication ${mayRepeat} was withdrawn, and without the index nothing tells whether anything has changed since: see that publication ${version} is what you want to show`,
  ];
}
