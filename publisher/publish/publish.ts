/** Publishes what is in `out`: keys, files, the authority's confirmation, timestamps; docs/spec/publication.md, section 8. */
import { setTimeout } from 'node:timers/promises';
import { hexDigest } from '../../core/encoding/digest.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime } from '../../core/publication/metadata.ts';
import { checkExpiry } from '../../core/publication/verify-roles.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { readTimestamp } from '../authority/authority.ts';
import { fetchKeysOfFormerReaders, handOverKeys, isUnreachable } from '../authority/key-server.ts';
import { runIn, whileHolding } from '../authority/publishing-run.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { type ProtectOptions, protectSite } from '../protect/protect.ts';
import type { ProtectSummary } from '../protect/summary.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import { heldIn, hold } from '../publication/held.ts';
import { expiriesIn, expiriesOf, type RoleState } from '../publication/roles.ts';
import {
  findSnapshot,
  missing,
  openSnapshot,
  type SignedSnapshot,
  type SnapshotPublication,
} from '../publication/signed.ts';
import { withLock } from '../workspace/workspace.ts';
import { cleanUp } from './clean-up.ts';
import { type Delivery, deliver } from './deliver.ts';
import { checkNotStopped, eachTarget } from './each-target.ts';
import { checkMadeHere, claim, confirmed } from './elsewhere.ts';
import { findHighest, type Highest, type Reached } from './highest.ts';
import { graceOf, type Pruned } from './prune.ts';
import { type RolledBack, remember } from './remembered.ts';
import { keepTimestamp, type OpenSiteOptions, type Site, withSite } from './site.ts';
import type { PublishTargets } from './targets.ts';
import { type UploadProgress, upload } from './upload.ts';

export interface PublishRun extends OpenSiteOptions {
  readonly places: PublishTargets;
  /** Options by which the site is protected first. Left out: what is in `out` is published as it is. */
  readonly protect?:
    | Pick<ProtectOptions, 'checkAll' | 'only' | 'rekey' | 'restored' | 'signers' | 'onProgress' | 'onRemoval'>
    | undefined;
  /** Says that the site here has what another copy of the workspace has published. */
  readonly merged?: boolean | undefined;
  /** Seconds since 1970: nothing is sent, and the key server is told of no publication, before. */
  readonly at?: number | undefined;
  /** Called each second until then. @param left - seconds */
  readonly onWaiting?: ((publication: number, left: number) => void) | undefined;
  /** Called before a publication is sent that an earlier run held back until a time. */
  readonly onHeld?: ((publication: number, until: number) => void) | undefined;
  /** Called with what protecting did, before anything is sent. */
  readonly onProtected?: (summary: ProtectSummary, highest: Highest) => void;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface PublishOptions {
  /** Replaces the one that the last `wispr protect` made. */
  readonly snapshot?: SignedSnapshot;
  /** Documents that are other than at targets which show the one before. */
  readonly rolledBack?: RolledBack;
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

export interface PublishedTarget extends Pruned {
  readonly target: string;
  readonly files: number;
  readonly bytes: number;
  readonly unchanged: number;
  /** Files that were sent because they were missing or altered at the target. */
  readonly repaired: number;
}

export interface PublishSummary extends Delivery {
  /** Targets that show it. Empty where `out` itself is served. */
  readonly targets: readonly PublishedTarget[];
  readonly expires: readonly RoleState[];
  readonly milliseconds: number;
}

export interface PublishedWorkspace {
  readonly summary: PublishSummary;
  readonly protection: ProtectSummary | undefined;
}

/**
 * The whole of `wispr publish`: looks what anyone has, protects, publishes. After any failure, the same run finishes.
 *
 * @throws as `protectSite` and `publishSite`; the failure of the first target where none could be looked at
 */
export async function publishFromWorkspace(run: PublishRun): Promise<PublishedWorkspace> {
  const { token, configuration, workspace } = run.places;
  const { signal, keyServerLimits: limits } = run;
  if (token === undefined) return publishHeld(run);
  const name = await withLock(workspace, async (index) => runIn(workspace, index));
  const access = { origin: configuration.keyServer, token, signal, ...(limits && { limits }) };
  return whileHolding(access, name, () => publishHeld(run));
}

async function publishHeld(run: PublishRun): Promise<PublishedWorkspace> {
  const { places, passphrase, signal, onProgress, onProtected } = run;
  const { highest, formerReaders } = await withSite(places, run, async (site) => {
    const found = await findHighest(site);
    const { protect } = run;
    if (protect) await checkMadeHere(site, found.snapshot, { merged: run.merged, restored: protect.restored });
    const isAsked = protect && !protect.only && places.configuration.sets.some(({ rekeyOnRevoke }) => rekeyOnRevoke);
    return {
      highest: found,
      formerReaders: isAsked && site.keyServer ? await fetchKeysOfFormerReaders(site.keyServer) : undefined,
    };
  });
  throwIfNone(highest);
  const protection =
    run.protect &&
    (await protectSite({
      ...{ configurationFile: places.configurationFile, passphrase, ...run.protect },
      ...{ above: highest.snapshot, timestamp: 'later', heldUntil: run.at, formerReaders },
      ...(signal && { signal }),
    }));
  if (protection) onProtected?.(protection, highest);
  const summary = await withSite(places, run, async (site) => {
    if (!protection) checkNotWithdrawn(site, highest.current);
    return publishSite(site, await untilTime(site, highest, run), { onProgress });
  });
  return { summary, protection };
}

/** Waits with the workspace locked: `out` has what is held back, and any run would publish it. @throws PublishError `stopped`, `publication-older` */
async function untilTime(site: Site, highest: Highest, { at, onWaiting, onHeld }: PublishRun): Promise<Highest> {
  const version = site.index.roles().get('snapshot')?.version ?? 0;
  if (at === undefined) {
    const until = heldIn(site.index).get(version);
    if (until !== undefined) onHeld?.(version, until);
    return highest;
  }
  if (version > (highest.current?.file.version ?? 0)) hold(site.index, version, at);
  for (let left = at - Date.now() / 1000; left > 0; left = at - Date.now() / 1000) {
    onWaiting?.(version, Math.ceil(left));
    await setTimeout(Math.min(1, left) * 1000, undefined, { signal: site.signal }).catch(() => {}); // a clock may be set meanwhile
    checkNotStopped(
      site.signal,
      'nothing was sent; the next `wispr publish` sends it: to drop it, take its changes back first',
    );
  }
  const now = await findHighest(site);
  if (now.snapshot?.file.sha256 === highest.snapshot?.file.sha256) return now;
  const current = now.snapshot?.file.version ?? 0;
  const message = `publication ${current} was made elsewhere while this one waited; nothing was sent`;
  throw new PublishError('publication-older', message, { fields: { version, current } });
}

/** @throws PublishError `publication-older` if what is in `out` is what was withdrawn */
function checkNotWithdrawn({ index, out }: Site, current: SignedSnapshot | undefined): void {
  const own = index.roles().get('snapshot');
  if (own === undefined || !current?.snapshot.closed || own.version >= current.file.version) return;
  const [version, closing] = [own.version, current.file.version];
  const message = `${out} holds publication ${version}, which publication ${closing} has withdrawn: readers refuse the site until it is published anew`;
  throw new PublishError('publication-older', message, { fields: { version, current: closing } });
}

/**
 * Publishes the publication in `out`. Until the authority has confirmed it, readers find the previous one; after that, repeating the command
 * finishes what was interrupted.
 *
 * @throws PublishError `key-server-unreachable`, `key-server-refused`, `publication-older`, `publication-other`, `publication-missing`, `stopped`,
 * `clock-off`; the failure of the first target where every target failed
 */
export async function publishSite(
  site: Site,
  { reachable, failures }: Reached,
  options: PublishOptions = {},
): Promise<PublishSummary> {
  const started = performance.now();
  const { signal } = site;
  const publication = await openOwn(site, options.snapshot);
  const isOfIndex = site.index.roles().get('snapshot')?.sha256 === publication.signed.file.sha256; // is no rollback
  const expires = await (isOfIndex ? expiriesIn(site.index.roles(), publication) : expiriesOf(publication));
  const snapshot = { ...publication.signed, expiries: expires };
  if (!site.keyServer) await checkClock(site.now(), reachable);
  claim(site, snapshot);
  await handOverBundle(site);
  const bring = (target: Target) => upload(site, target, publication, options.rolledBack, options.onProgress);
  const uploads = await eachTarget(reachable, bring, { signal });
  const complete = { reachable: [...uploads.done.keys()], failures: [...failures, ...uploads.failures] };
  throwIfNone(complete);
  checkNotStopped(signal);
  const timestamp = await site.authority.confirm(snapshot);
  confirmed(site, snapshot);
  const { shown, delivery } = await deliver(site, timestamp, snapshot, complete);
  await keepTimestamp(site, timestamp, snapshot);
  const plans = new Map([...uploads.done].filter(([target]) => shown.includes(target)));
  for (const [target, { part }] of plans) remember(site, target, snapshot, part);
  const { version: signedAt, expires: until } = readTimestamp(timestamp).timestamp;
  const freshFor = Math.max(site.configuration.freshness.hours * 3600, until - signedAt);
  const replacing = { now: site.now(), signedAt, freshFor, grace: await graceOf(publication) };
  const removed = options.rolledBack?.removed ?? [];
  const pruned = await cleanUp(plans, site, publication, { ...replacing, isOfIndex, removed });
  return {
    ...delivery,
    targets: Array.from(plans, ([target, { files, bytes, unchanged, repaired }]) => {
      const counts = { files, bytes, unchanged, repaired };
      return { target: target.name, ...counts, ...(pruned.get(target) ?? { removed: 0, waiting: 0 }) };
    }),
    expires,
    milliseconds: Math.round(performance.now() - started),
  };
}

/** @throws the failure of the first target, if every target failed */
function throwIfNone({ reachable, failures: [failed] }: Reached): void {
  if (reachable.length === 0 && failed) throw failed.failure;
}

/** Opens the publication that the last `wispr protect` made. It has to be good in every way. */
async function openOwn({ output, roots, now, out, index }: Site, given?: SignedSnapshot): Promise<SnapshotPublication> {
  const row = given?.file ?? index.roles().get('snapshot');
  const signed = row && (await findSnapshot(row, [output], roots.slice(0, 1)));
  if (signed === undefined) throw missing(out);
  const publication = await openSnapshot(signed, output, roots);
  const { root, targets, snapshot } = publication.state;
  for (const [role, metadata] of Object.entries({ root, targets, snapshot })) checkExpiry(role, metadata, now());
  return publication;
}

/**
 * Compares this machine's clock with those of targets that have one (buckets). One that does not answer has no say in this.
 *
 * @param now - what this machine's clock says, seconds since 1970
 * @throws PublishError `clock-off`
 */
async function checkClock(now: number, targets: readonly Target[]): Promise<void> {
  await Promise.all(
    targets.map(async (target) => {
      if (!target.time) return;
      await target.head(TIMESTAMP_PATH).catch(() => undefined);
      const time = target.time();
      if (time === undefined || now <= time + PUBLICATION_LIMITS.clockTolerance) return;
      const message = `this machine's clock says ${isoTime(now)}, and that of ${target.name} says ${isoTime(Math.trunc(time))}`;
      throw new PublishError('clock-off', message, { fields: { target: target.name } });
    }),
  );
}

/**
 * Hands the key bundle to the key server before any document needs its keys; goes on without where the key server does not answer and has this very
 * bundle already.
 *
 * @throws PublishError `key-server-unreachable`, `key-server-refused`
 */
export async function handOverBundle({ keyServer, workspace, index }: Site): Promise<void> {
  const bundle = await readIfThere(workspace.bundle);
  if (keyServer === undefined || bundle === undefined) return;
  const mark = `${keyServer.origin} ${await hexDigest(bundle)}`;
  try {
    await handOverKeys(keyServer, bundle);
    index.setFact('handedOver', mark);
  } catch (error) {
    if (!isUnreachable(error) || index.fact('handedOver') !== mark) throw error;
  }
}
