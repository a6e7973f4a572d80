/** `wispr protect`: makes the protected form of a whole site. All or nothing: a failure leaves output and keys as they were. */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { randomBytes } from '#primitives';
import { reasonOf } from '../../core/errors.ts';
import { DESCRIPTOR_PATH } from '../../core/keys/descriptor.ts';
import { KEY_LENGTH, type KeyId, keyIdOf } from '../../core/keys/key-id.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { readConfiguration } from '../configuration/read.ts';
import type { Configuration } from '../configuration/schema.ts';
import { PublishError } from '../errors.ts';
import { forEachInFlight } from '../in-flight.ts';
import { type FileUpdate, prepareFile, removeLeftovers } from '../keys/file-update.ts';
import { makeBundle, makeDescriptor, type NamedSet, readRecipient, recipientFileOf } from '../keys/hand-over.ts';
import { type KeyStoreContents, type OpenKeyStore, openKeyStore } from '../keys/key-store.ts';
import { readKeyStore, type Workspace, withLock, workspaceOf } from '../workspace.ts';
import { makeDirectories, toOutput, type WritingContext, writeDocument } from './document.ts';
import { beginOutput, checkReplaceable, recoverOutput, resolveOutput, type Staging } from './output.ts';
import { makePlan, type Plan } from './plan.ts';
import { countSets, type ProtectSummary, publicByReason } from './summary.ts';

export interface ProtectOptions {
  /** Path of `wispr.json`. */
  readonly configurationFile: string;
  readonly passphrase: string;
  /** Takes the place of `out` in the configuration; relative to it. */
  readonly out?: string;
  /** Called as documents are done. */
  readonly onProgress?: (progress: Progress) => void;
  /** Stops the run, as long as nothing has taken its place yet; what was written is removed then. */
  readonly signal?: AbortSignal;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Files that are open at a time: enough to keep disk and threads busy, and memory bounded. */
const IN_FLIGHT = 8;

/**
 * Protects a site.
 *
 * @throws PublishError; nothing was changed then
 */
export async function protectSite(options: ProtectOptions): Promise<ProtectSummary> {
  const started = performance.now();
  const workspace = workspaceOf(options.configurationFile);
  const configuration = await readConfiguration(workspace.configuration);
  return withLock(workspace, async () => {
    const run = await prepare(workspace, configuration, options);
    const bytesOut = await writeAndSwap(run, options);
    return summarise(run, bytesOut, performance.now() - started);
  });
}

/** A run, once everything that could be refused is known to be good. */
interface Run {
  readonly workspace: Workspace;
  readonly configuration: Configuration;
  readonly keyStore: OpenKeyStore;
  /** The publisher's identity. */
  readonly root: KeyId;
  readonly plan: Plan;
  /** The output directory, with links resolved. */
  readonly out: string;
  readonly recovered: readonly string[];
  readonly recipient: Uint8Array | undefined;
  /** All sets that have a key, those of earlier runs as well. */
  readonly sets: readonly NamedSet[];
  readonly now: number;
}

async function prepare(workspace: Workspace, configuration: Configuration, options: ProtectOptions): Promise<Run> {
  const source = resolve(workspace.directory, configuration.source);
  const out = resolveOutput(options.out ?? configuration.out, source, workspace);
  const keyStore = await openKeyStore(await readKeyStore(workspace), options.passphrase);
  const plan = await makePlan(source, configuration);
  const root = keyStore.rootId;
  const recovered = await recoverOutput(out, root);
  await checkReplaceable(out, root);
  for (const file of [workspace.keyStore, workspace.bundle]) await toOutput(file, removeLeftovers(file));
  const recipient = await readRecipient(recipientFileOf(workspace, configuration));
  const sets = await nameSets(keyStore.contents, countSets(plan).keys());
  const now = options.now ?? nowInSeconds();
  return { workspace, configuration, keyStore, root, plan, out, recovered, recipient, sets, now };
}

/** The keys of the workspace, and a fresh one for each set that has none. */
async function nameSets({ sets }: KeyStoreContents, used: Iterable<string>): Promise<NamedSet[]> {
  const keys = new Map(sets);
  for (const name of used) if (!keys.has(name)) keys.set(name, randomBytes(KEY_LENGTH));
  return Promise.all(Array.from(keys, async ([name, key]) => ({ name, key, id: await keyIdOf('set', key) })));
}

/**
 * Writes everything beside what is there, then lets it take its place: the keys first, so that nothing is ever published whose key could
 * be lost.
 */
async function writeAndSwap(run: Run, { onProgress, signal }: ProtectOptions): Promise<number> {
  checkNotStopped(signal);
  const staging = await beginOutput(run.out, run.root);
  const updates: FileUpdate[] = [];
  try {
    const bytesOut = await writeDocuments(run, staging, { onProgress, signal });
    await prepareKeyFiles(run, staging, updates);
    checkNotStopped(signal); // for the last time: what follows is not to be interrupted
    for (const update of updates) await toOutput(run.workspace.keyStore, update.commit());
    await staging.swap();
    await staging.finish();
    return bytesOut;
  } catch (error) {
    await undoAll([() => staging.discard(), ...updates.map((update) => () => update.undo())], error);
    throw error;
  }
}

async function writeDocuments(
  run: Run,
  staging: Staging,
  { onProgress, signal }: { [Option in 'onProgress' | 'signal']: ProtectOptions[Option] | undefined },
): Promise<number> {
  const { documents, directories } = run.plan;
  const context = writingContext(run, staging, signal);
  await makeDirectories(staging.directory, directories);
  let bytesOut = 0;
  let done = 0;
  await forEachInFlight(documents, IN_FLIGHT, async (document) => {
    const written = await writeDocument(document, context);
    bytesOut += written; // after the wait: others have added theirs meanwhile
    done++;
    onProgress?.({ done, total: documents.length });
  });
  return bytesOut;
}

function writingContext(
  { configuration, keyStore, sets }: Run,
  { directory }: Staging,
  signal: AbortSignal | undefined,
): WritingContext {
  const { site, name, content, reading, carrier, fallback } = configuration;
  const byName = new Map(sets.map((set) => [set.name, set]));
  const origin = (typeof content === 'string' ? content : content[0]) ?? `https://${site}`;
  return {
    out: directory,
    checkNotStopped: () => checkNotStopped(signal),
    site,
    publisher: keyStore.publisher,
    carrier,
    fallback: { publisher: name ?? site, content: origin, reading, redirectAfter: fallback.redirectAfter },
    keyOf: (set) => {
      const found = byName.get(set);
      if (found === undefined) throw new Error('every set of the plan has a key');
      return found;
    },
  };
}

/** @throws PublishError `stopped` */
function checkNotStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new PublishError('stopped', 'stopped; nothing was changed');
}

/** The descriptor; the key store, if it changed; and the bundle, if there is somebody to seal it to. Key store first. */
async function prepareKeyFiles(run: Run, staging: Staging, updates: FileUpdate[]): Promise<void> {
  const { workspace, configuration, keyStore, recipient, sets, now } = run;
  const descriptor = makeDescriptor(configuration, keyStore, now);
  await toOutput(run.out, writeFile(join(staging.directory, DESCRIPTOR_PATH), descriptor));
  const { contents } = keyStore;
  if (recipient === undefined && sets.length === contents.sets.size) return;
  const changed: KeyStoreContents = {
    ...contents,
    serial: contents.serial + (recipient === undefined ? 0 : 1),
    sets: new Map(sets.map(({ name, key }) => [name, key])),
  };
  const stage = async (file: string, bytes: Uint8Array) => {
    updates.push(await toOutput(file, prepareFile(file, bytes)));
  };
  await stage(workspace.keyStore, await keyStore.seal(changed));
  if (recipient === undefined) return;
  const bundle = { descriptor, sets };
  await stage(workspace.bundle, await makeBundle(bundle, configuration, changed, keyStore.publisher, recipient, now));
}

/** Undoes every step, also after one of them failed; says so then, since something was left. */
async function undoAll(steps: readonly (() => Promise<void>)[], cause: unknown): Promise<void> {
  const results = await Promise.allSettled(steps.map((step) => step()));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return;
  throw new PublishError(
    'output-failed',
    `${reasonOf(cause)}; and not everything could be put back: ${systemReason(failed.reason)}`,
    {
      cause,
      hint: 'run "wispr protect" again: it puts right what was left',
    },
  );
}

function summarise(run: Run, bytesOut: number, milliseconds: number): ProtectSummary {
  const { configuration, keyStore, root, plan, out, recipient, recovered, sets, workspace } = run;
  const counts = countSets(plan);
  return {
    site: configuration.site,
    publisher: root,
    out,
    documents: plan.documents.length,
    sets: sets.flatMap(({ name, id }) => {
      const documents = counts.get(name);
      return documents === undefined ? [] : [{ name, id, documents, isNew: !keyStore.contents.sets.has(name) }];
    }),
    public: publicByReason(plan),
    ignored: plan.ignored,
    bytesIn: plan.documents.reduce((sum, { source }) => sum + source.size, 0),
    bytesOut,
    milliseconds: Math.round(milliseconds),
    bundle: recipient && workspace.bundle,
    recipient: recipientFileOf(workspace, configuration),
    unusedPatterns: plan.unusedPatterns,
    recovered,
  };
}
