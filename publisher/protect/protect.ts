/**
 * `wispr protect`: makes the protected form of a site, or brings it up to date: docs/spec/publication.md, section 8. The output is changed in
 * place, in an order that leaves the previous publication readable until the very last step; whatever interrupts it, the next run goes on.
 */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { ownTargetsOf } from '../../core/publication/names.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { bootId } from '../../node-support/boot.ts';
import { stopped } from '../errors.ts';
import { readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import { noteKeyStore } from '../keys/note-key-store.ts';
import { signedSettingsOf } from '../site/site-settings.ts';
import { hasKeyServer } from '../workspace/configuration/schema.ts';
import type { LostIndex, PublisherIndex } from '../workspace/index/publisher-index.ts';
import { readKeyStore, withLock } from '../workspace/workspace.ts';
import { appearanceOf } from './appearance.ts';
import { pruneOutput, putIfDifferent, removeFiles } from './files.ts';
import { checkRekey, currentEnvelopes, type SecuredKeys, secureKeys, setsDueForRekey } from './keys.ts';
import { locate, type Place, type PlaceOptions } from './locate.ts';
import { inspectOutput } from './output.ts';
import { makePlan } from './plan.ts';
import { type PublicationSummary, publish } from './publication.ts';
import { areKeysOlder, checkRootsKnown, type Published, publishedIn, signAbove, unknownLists } from './published.ts';
import { putReadingSite } from './reading-site.ts';
import { rolesOf } from './roles.ts';
import type { Progress, PublicationContext, Run } from './run.ts';
import { RunKeys } from './run-keys.ts';
import { checkUseful, RunSections } from './sections.ts';
import { checkSigners } from './signing-plan.ts';
import { type ProtectSummary, summarisePlan } from './summary.ts';
import { placeDocuments, type TasksDone, writeDocuments } from './tasks.ts';
import { DocumentWriters } from './writers/writers.ts';

export interface DryRunOptions extends PlaceOptions {
  /** Names of sets that get a new key. */
  readonly rekey?: readonly string[];
  /** Called as the work goes on. */
  readonly onProgress?: (progress: Progress) => void;
  /** Stops the run; the previous publication stays as it is. */
  readonly signal?: AbortSignal;
}

export interface ProtectOptions extends DryRunOptions {
  readonly passphrase: string;
  /** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
  readonly signers?: readonly RoleSigner[];
  /** The highest publication that the authority or a target has: the next one gets a higher number. Default: the one in `out`. */
  readonly above?: Published | undefined;
  /** `later`: `wispr publish` has the timestamp signed, once the files are where readers look for them. */
  readonly timestamp?: 'later';
}

/** Seconds beyond freshness and grace for which files are kept that no publication names: clocks differ, and uploads take time. */
const MARGIN = 86_400;

/**
 * Protects a site.
 *
 * @throws PublishError; the publication that was visible before is then as it was
 */
export async function protectSite(options: ProtectOptions): Promise<ProtectSummary> {
  const place = await locate(options);
  return withLock(place.workspace, async (index) => {
    const started = performance.now();
    const store = await openWhileLooking(place, options.passphrase);
    const keys = await RunKeys.of(store, place.workspace);
    const known = keys.contents.publication;
    const run = await prepare(place, keys, index, options);
    const done = await carryOut(run, options);
    return { ...summarise(run, done, started), recovered: recoveredFrom(run, known) };
  });
}

/** Documents that are looked at while the key store is opened: as many as there is time for, and few enough to be kept in memory. */
const LOOK_AHEAD = 10_000;

/** To derive the key store's key from the passphrase takes a fifth of a second on another thread: meanwhile the site is looked at. */
async function openWhileLooking({ workspace, walk }: Place, passphrase: string): Promise<OpenKeyStore> {
  const opening = openKeyStore(await readKeyStore(workspace), passphrase);
  const looking = setImmediate().then(() => walk.lookAhead(LOOK_AHEAD)); // once the derivation is under way
  looking.catch(() => undefined); // a wrong passphrase comes first
  const store = await opening;
  await looking;
  return store;
}

/**
 * Looks at everything, and refuses what cannot be published.
 *
 * @throws PublishError
 */
async function prepare(place: Place, keys: RunKeys, index: PublisherIndex, options: ProtectOptions): Promise<Run> {
  const { workspace, configuration, out, now } = place;
  const { signers = [], rekey: wanted = [], onProgress } = options;
  const checkNotStopped = stopper(options.signal);
  const publisher = keys.store.publisher.id;
  const roles = await rolesOf(keys.store, signers);
  const sections = await RunSections.of(configuration, index, keys.contents.sections, signers);
  checkUseful(signers, roles, sections);
  const isAlone = !hasKeyServer(configuration);
  const recipient = isAlone ? undefined : await readRecipient(recipientFileOf(workspace, configuration));
  await checkRootsKnown(out, keys.store);
  const isServed = configuration.publish === undefined;
  const above = options.above ?? (isServed ? await publishedIn(out, roles.root) : undefined);
  const unknown = unknownLists(index, above);
  const { rootId, root } = roles;
  const about = { rootId, nextRoot: root.version + 1, unknown, readOnly: false, checkNotStopped };
  const output = await inspectOutput(out, index, about);
  const areOlder = areKeysOlder(index, keys.contents.publication, above);
  signAbove(index, unknown);
  sections.settle(index, output.signed, publisher);
  const { setsSince, sets } = keys.contents;
  const rekey = setsDueForRekey(configuration, setsSince, now, [...wanted, ...(areOlder ? sets.keys() : [])]);
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const plan = await makePlan({
    ...{ ...place, index, output, sections, rekey, appearance, checkNotStopped, readOnly: false },
    setIdOf: (name) => keys.idOf(name),
    onFound: (done) => onProgress?.({ stage: 'looking', done, total: undefined }),
  });
  checkRekey(wanted, plan.sets);
  const settings = signedSettingsOf(configuration, (path) => index.planned(path), rootId);
  const found = { keys, roles, sections, index, output, appearance, plan, settings, recipient };
  return { ...place, ...found, rekey, areKeysOlder: areOlder };
}

/** @throws PublishError `stopped` */
export function stopper(signal: AbortSignal | undefined): () => void {
  return () => {
    if (signal?.aborted) throw stopped();
  };
}

/** What a run came to. */
interface Done {
  readonly secured: SecuredKeys;
  readonly tasks: TasksDone;
  readonly publication: PublicationSummary;
  readonly keyFiles: number | undefined;
  readonly pruned: number;
}

/** The order of docs/spec/publication.md, section 8. */
async function carryOut(run: Run, options: ProtectOptions): Promise<Done> {
  const { configuration, index, keys, out, output, roles, now, settings } = run;
  // The host proof first: it tells the next run whose the directory is, should this one be interrupted.
  await putIfDifferent(join(out, HOST_PROOF_PATH), utf8(`${hostProofLine(roles.rootId)}\n`));
  removeFiles(out, output.unfinished); // what an interrupted run had begun
  index.transaction(() => {
    index.setFact('publisher', keys.store.publisher.id);
    index.setFact('root', roles.rootId);
  });
  const secured = await secureKeys(run, (options.rekey?.length ?? 0) > 0);
  const { descriptor } = secured;
  const freshFor = configuration.freshness.hours * 3600;
  const ownTargets = [
    ...ownTargetsOf({ descriptor, settings: encodeSettings(settings) }),
    ...(await currentEnvelopes(run)),
  ];
  // Where `wispr publish` brings the site to targets, it has the timestamp signed when the files are there.
  const signsTimestamp = options.timestamp !== 'later' && configuration.publish === undefined;
  const context = { ...run, ownTargets, signsTimestamp, freshFor };
  const tasks = await writeAndPlace(context, options);
  await putIfDifferent(join(out, DESCRIPTOR_PATH), descriptor);
  const keyFiles = await putReadingSite({ configuration, out, contents: keys.contents, rootId: roles.rootId, now });
  const publication = await publish(context);
  index.startWaiting(now);
  index.setFact('boot', bootId());
  index.setFact('pages', 'protect');
  await noteKeyStore(index, run.workspace);
  return {
    secured,
    tasks,
    publication,
    keyFiles,
    pruned: pruneOutput(out, index, now - (freshFor + settings.grace + MARGIN)),
  };
}

async function writeAndPlace(run: PublicationContext, { onProgress, signal }: ProtectOptions): Promise<TasksDone> {
  const { configuration, index, keys, out, plan } = run;
  const total = index.countTasks();
  const sets = new Map(keys.sets().map(({ id, key }) => [id, key]));
  const { publisher } = keys.store;
  const writers = new DocumentWriters({ out, site: configuration.site, publisher, sets }, signal);
  const onDone = (done: number) => onProgress?.({ stage: 'writing', done, total });
  try {
    onDone(0);
    const done = await writeDocuments(run, writers, onDone);
    stopper(signal)();
    await checkSigners(run); // before browsers are shown pages of a publication that cannot be signed
    if (plan.documents > 0) await placeDocuments(run, writers);
    return done;
  } finally {
    await writers.close();
  }
}

/** What was found to be missing or older, and what was done about it. */
/** The database is made before the first run has written anything. */
const LOST = { missing: 'knows of no finished run', damaged: 'is damaged' } as const satisfies Record<
  LostIndex,
  string
>;

function recoveredFrom({ workspace, index: { lost }, output, areKeysOlder: areOlder }: Run, known: number): string[] {
  return [
    ...(lost && !output.isEmpty ? [`${workspace.database} ${LOST[lost]}: every document is written again`] : []),
    ...(areOlder
      ? [
          `publisher.keys is older than the last publication (it knows publication ${known}): every set has a new key; repeat what you changed since with "wispr keys"`,
        ]
      : []),
  ];
}

function summarise(
  run: Run,
  { secured, tasks, publication, keyFiles, pruned }: Done,
  started: number,
): Omit<ProtectSummary, 'recovered'> {
  const { configuration, index, keys, plan, recipient, roles, workspace } = run;
  const { bytesIn, bytesOut, pageBytes } = index.totals();
  const rekeyed = new Set(index.setsOf('rekeyed'));
  return {
    ...summarisePlan(run, plan, tasks.reasons, tasks.unchanged),
    publisher: roles.rootId,
    publisherKey: keys.store.publisher.id,
    sets: Array.from(plan.sets, ([name, documents]) => {
      return { name, id: keys.keyOf(name), documents, isNew: secured.made.has(name), isRekeyed: rekeyed.has(name) };
    }),
    bytesIn,
    bytesOut,
    pageBytes,
    milliseconds: Math.round(performance.now() - started),
    publication,
    pruned,
    waiting: index.countRetired(),
    keyFiles,
    bundle: recipient && workspace.bundle,
    bundleIsNew: secured.bundleIsNew,
    recipient: recipientFileOf(workspace, configuration),
  };
}
