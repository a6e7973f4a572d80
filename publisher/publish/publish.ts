/** Publishes what is in `out`: keys, files, the authority's confirmation, timestamps; docs/spec/publication.md, section 8. */
import type { CodedError } from '../../core/errors.ts';
import { checkExpiry } from '../../core/publication/verify-roles.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { isUnreachable } from '../authority/key-server.ts';
import { checkClock } from '../publication/clock.ts';
import { missing } from '../publication/current.ts';
import { expiriesOf, type RoleState } from '../publication/expiries.ts';
import { findSnapshot, openSnapshot, type SignedSnapshot, type SnapshotPublication } from '../publication/snapshot.ts';
import { checkTarget } from './check-target.ts';
import { deliver } from './deliver.ts';
import { checkNotStopped, eachTarget } from './each-target.ts';
import type { Failed } from './highest.ts';
import { Inventory } from './inventory.ts';
import { handOverBundle } from './key-hand-over.ts';
import { keepTimestamp } from './output.ts';
import { type Pruned, pruneTarget } from './prune.ts';
import type { Site } from './site.ts';
import { planUpload, type UploadPlan, type UploadProgress, upload } from './upload.ts';

export interface PublishOptions {
  /** In place of what the last `wispr protect` made. */
  readonly snapshot?: SignedSnapshot;
  /** Targets that could be looked at. Default: all */
  readonly targets?: readonly Target[];
  /** What failed before. */
  readonly failures?: readonly Failed[];
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface PublishedTarget extends Pruned {
  readonly target: string;
  readonly files: number;
  readonly bytes: number;
  readonly unchanged: number;
}

export interface PublishSummary {
  readonly publication: number;
  /** Targets that show it. Empty where `out` itself is served. */
  readonly targets: readonly PublishedTarget[];
  readonly behind: readonly Behind[];
  /** When the timestamp ends, seconds since 1970. */
  readonly freshUntil: number;
  /** Whether the key server has the keys and confirms the publication; `undefined` without a token. */
  readonly keyServer: 'confirms' | 'has the keys' | 'does not answer' | undefined;
  readonly expires: readonly RoleState[];
  readonly milliseconds: number;
}

/** A target that was left behind, and why. */
export interface Behind {
  readonly target: string;
  readonly code: string;
  readonly message: string;
}

/** Seconds after which what an interrupted upload left is removed. */
const LEFTOVER_AGE = 3600;
/** Milliseconds for removing old files: the next run goes on. */
const PRUNING = 1_800_000;

/**
 * Publishes the publication in `out`. Until the authority has confirmed it, readers find the previous one; after that, repeating the command
 * finishes what was interrupted.
 *
 * @throws PublishError `key-server-unreachable`, `key-server-refused`, `publication-older`, `publication-other`, `publication-missing`, `stopped`,
 * `clock-off`; the failure of the first target where every target failed
 */
export async function publishSite(site: Site, options: PublishOptions = {}): Promise<PublishSummary> {
  const started = performance.now();
  const { authority, now, signal } = site;
  const targets = options.targets ?? site.targets;
  const publication = await openOwn(site, options.snapshot);
  const expires = await expiriesOf(publication);
  const signed = { ...publication.signed, expiries: expires };
  if (!site.keyServer) await checkClock(now(), targets);
  await handOverBundle(site);
  const uploads = await eachTarget(targets, (target) => bring(target, site, publication, options), { signal });
  const complete = uploads.filter(({ failure }) => failure === undefined).map(({ target }) => target);
  const failed = [...(options.failures ?? []), ...uploads.filter((one): one is Failed => one.failure !== undefined)];
  if (site.targets.length > 0 && complete.length === 0 && failed[0]) throw failed[0].failure;
  checkNotStopped(signal);
  const timestamp = await authority.confirm(signed);
  const delivery = await deliver(site, { timestamp, snapshot: signed, targets: complete });
  await keepTimestamp(site, timestamp, signed);
  const pruned = await prune(delivery.shown, site, publication, uploads);
  return {
    publication: publication.signed.file.version,
    targets: delivery.shown.map((target) => describe(target, uploads, pruned)),
    behind: [...failed, ...delivery.failures].map(behindOf),
    freshUntil: delivery.freshUntil,
    keyServer: keyServerOf(site),
    expires,
    milliseconds: Math.round(performance.now() - started),
  };
}

export function behindOf({ target, failure }: { readonly target: Target; readonly failure: CodedError }): Behind {
  return { target: target.name, code: failure.code, message: failure.message };
}

/** What the key server has after a confirmation. */
export function keyServerOf({ keyServer, configuration, keyServerFailure }: Site): PublishSummary['keyServer'] {
  if (keyServer === undefined) return undefined;
  if (isUnreachable(keyServerFailure())) return 'does not answer';
  return configuration.timestampBy === 'keyserver' ? 'confirms' : 'has the keys';
}

/** What the last `wispr protect` made. It has to be good in every way. */
async function openOwn({ output, roots, now, out, index }: Site, given?: SignedSnapshot): Promise<SnapshotPublication> {
  const row = given?.file ?? index.roles().get('snapshot');
  const signed = row && (await findSnapshot(row, [output], roots.slice(0, 1)));
  if (signed === undefined) throw missing(out);
  const publication = await openSnapshot(signed, output, roots);
  const { root, targets, snapshot } = publication.state;
  for (const [role, metadata] of Object.entries({ root, targets, snapshot })) checkExpiry(role, metadata, now());
  return publication;
}

/** Sends everything but the timestamp. */
async function bring(
  target: Target,
  site: Site,
  publication: SnapshotPublication,
  { onProgress }: PublishOptions,
): Promise<UploadPlan> {
  const { out, signal } = site;
  const stopped = () => checkNotStopped(signal);
  const checkOurs = () => checkTarget(target, site, publication.signed);
  await checkOurs();
  const inventory = await Inventory.of(target, { checkNotStopped: stopped });
  const context = { out, target, publication, inventory, checkNotStopped: stopped, checkOurs, onProgress };
  const plan = await planUpload(context);
  await upload(context, plan);
  return plan;
}

/** Removes old files. What readers find stays what it is, so being stopped is no failure here. */
async function prune(
  targets: readonly Target[],
  { now, signal, configuration }: Site,
  publication: SnapshotPublication,
  uploads: readonly { readonly target: Target; readonly value?: UploadPlan }[],
): Promise<Map<Target, Pruned>> {
  const ending = AbortSignal.any([AbortSignal.timeout(PRUNING), ...(signal ? [signal] : [])]);
  const freshFor = configuration.freshness.hours * 3600;
  const done = new Map<Target, Pruned>();
  const work = async (target: Target) => {
    const named = uploads.find((upload) => upload.target === target)?.value?.named;
    if (named === undefined) return;
    done.set(target, await pruneTarget({ target, publication, named, freshFor, now: now(), signal: ending }));
    if (!ending.aborted) await target.removeLeftovers(now() - LEFTOVER_AGE);
  };
  await eachTarget(targets, work, { signal: ending }).catch((error: unknown) => {
    if (!ending.aborted) throw error;
  });
  return done;
}

function describe(
  target: Target,
  uploads: readonly { readonly target: Target; readonly value?: UploadPlan }[],
  pruned: ReadonlyMap<Target, Pruned>,
): PublishedTarget {
  const plan = uploads.find((upload) => upload.target === target)?.value;
  const { files = 0, bytes = 0, unchanged = 0 } = plan ?? {};
  return { target: target.name, files, bytes, unchanged, ...(pruned.get(target) ?? { removed: 0, waiting: 0 }) };
}
