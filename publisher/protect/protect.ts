/**
 * `wispr protect`: makes the protected form of a site, or brings it up to date: docs/spec/publication.md, section 8. It inspects, plans and writes.
 * The output is changed in place, in an order that leaves the previous publication readable until the very last step; whatever interrupts it,
 * the next run goes on.
 */
import { stopped } from '../errors.ts';
import { recipientFileOf } from '../keys/hand-over.ts';
import { signedSettingsOf } from '../site/site-settings.ts';
import type { LostIndex } from '../workspace/index/publisher-index.ts';
import { withLock } from '../workspace/workspace.ts';
import { type InspectOptions, inspect } from './inspect.ts';
import { checkRekey } from './keys.ts';
import { type LocationOptions, locate } from './location.ts';
import type { Inspected, Planned, Progress } from './phases.ts';
import { makePlan } from './plan.ts';
import { type Removal, removalOf } from './removal.ts';
import { type ProtectSummary, summarisePlan } from './summary.ts';
import { type Done, write } from './write.ts';

export interface DryRunOptions extends LocationOptions {
  readonly rekey?: readonly string[];
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

export interface ProtectOptions extends DryRunOptions, Omit<InspectOptions, 'rekey'> {
  /** Asked before documents go; rejects to leave everything as it is. */
  readonly onRemoval?: (removal: Removal) => Promise<void>;
  /** `later`: `wispr publish` has the timestamp signed, once the files are where readers look for them. */
  readonly timestamp?: 'later';
  /** Seconds since 1970, until when `wispr publish` holds back what is signed. */
  readonly heldUntil?: number | undefined;
}

/** @throws PublishError; the publication that was visible before is then as it was */
export async function protectSite(options: ProtectOptions): Promise<ProtectSummary> {
  const { rekey = [], onProgress, signal, timestamp, heldUntil } = options;
  const location = await locate(options);
  const checkNotStopped = stopper(signal);
  return withLock(location.workspace, async (index) => {
    const started = performance.now();
    const inspected = await inspect(location, index, options, checkNotStopped);
    const known = inspected.keys.contents.publication;
    const planned = await plan(inspected, rekey, onProgress, checkNotStopped);
    const removal = removalOf(planned.plan, index, location.configuration);
    if (removal) await options.onRemoval?.(removal);
    const signsTimestamp = timestamp !== 'later' && location.configuration.publish === undefined;
    const isRekeyAsked = rekey.length > 0;
    const how = { isRekeyAsked, signsTimestamp, heldUntil, onProgress, signal, checkNotStopped };
    const done = await write(inspected, planned, how);
    return { ...summarise(inspected, planned, done, started), recovered: recoveredFrom(inspected, known) };
  });
}

/** The second phase: decides about every document, and puts what is to be done into the index. @throws PublishError */
async function plan(
  { location, index, keys, output, sections, rekey, appearance, roles }: Inspected,
  wanted: readonly string[],
  onProgress: DryRunOptions['onProgress'],
  checkNotStopped: () => void,
): Promise<Planned> {
  const { walk, configuration, only } = location;
  const made = await makePlan({
    ...{ walk, configuration, only, index, output, sections, rekey, appearance, checkNotStopped, readOnly: false },
    setIdOf: (name) => keys.idOf(name),
    onFound: (done) => onProgress?.({ stage: 'looking', done, total: undefined }),
  });
  checkRekey(wanted, made.sets);
  return { plan: made, settings: signedSettingsOf(configuration, (path) => index.planned(path), roles.rootId) };
}

/** @throws PublishError `stopped` */
export function stopper(signal: AbortSignal | undefined): () => void {
  return () => {
    if (signal?.aborted) throw stopped();
  };
}

/** The database is made before the first run has written anything. */
const LOST = { missing: 'knows of no finished run', damaged: 'is damaged' } as const satisfies Record<
  LostIndex,
  string
>;

function recoveredFrom(
  { location: { workspace }, index: { lost }, output, isBehind }: Inspected,
  known: number,
): string[] {
  return [
    ...(lost && !output.isEmpty ? [`${workspace.database} ${LOST[lost]}: every document is written again`] : []),
    ...(isBehind
      ? [
          `publisher.keys knew publication ${known}, and not the last one: every set has a new key; repeat what was changed since with "wispr keys"`,
        ]
      : []),
  ];
}

function summarise(
  { location, index, keys, recipient, roles }: Inspected,
  { plan }: Planned,
  { secured, tasks, publication, keyFiles, pruned }: Done,
  started: number,
): Omit<ProtectSummary, 'recovered'> {
  const { configuration, workspace } = location;
  const { bytesIn, bytesOut, pageBytes } = index.totals();
  const rekeyed = new Set(index.setsOf('rekeyed'));
  return {
    ...summarisePlan(location, plan, tasks.reasons, tasks.unchanged),
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
