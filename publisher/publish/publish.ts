/** `wispr publish`: brings a protected site to where it is served, in the one safe order: docs/spec/publication.md, section 8. */
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { readLastPublished, rememberPublished } from '../last-published.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { openOutput } from '../publication/own.ts';
import {
  type PublishedSnapshot,
  type Shown,
  withBegun,
  withNews,
  withPublished,
  withTelling,
  withTold,
} from '../published-places.ts';
import { joinWithdrawn } from '../timestamp/withdrawn.ts';
import { type Workspace, withLock } from '../workspace.ts';
import { checkNotWithdrawn, checkSaysWithdrawn } from './check-not-withdrawn.ts';
import { checkSignedByNow, doubtOf } from './clock-check.ts';
import { expiriesOf } from './expiries.ts';
import { Inventory } from './inventory.ts';
import { handOverKeys, type KeyServerAccess } from './key-server.ts';
import { hasNews, type NewSets, newSetsOf } from './new-sets.ts';
import { checkNotNewer, checkNumberIsFree } from './overtaken.ts';
import { type Pruned, pruneTarget } from './prune.ts';
import { stopped, stoppedAtTimestamp, stoppedBeforeTelling, untilStopped } from './stopping.ts';
import { tellPublication } from './tell-publication.ts';
import { ownTimestamp, type PutTimestamp, putTimestamp, type RenewTimestamp, reverted } from './timestamp-step.ts';
import { OnTheWay } from './unfinished.ts';
import { planUpload, type UploadOptions, type UploadPlan, type UploadProgress, upload } from './upload.ts';

export interface PublishOptions {
  readonly workspace: Workspace;
  /** The protected site. */
  readonly out: string;
  /** Left out where `out` itself is what is served. */
  readonly target?: Target;
  /** Left out where the key server is told by hand. */
  readonly keyServer?: KeyServerAccess;
  /** Somebody says that the key server has the keys: then it need not answer. */
  readonly keysAreThere?: boolean;
  /** Goes on where a timestamp key that is none any more, because it was stolen, says that there is something newer. */
  readonly replaceNewer?: boolean;
  readonly renewTimestamp?: RenewTimestamp;
  readonly onProgress?: (progress: UploadProgress) => void;
  /** Told what is doubtful, before anything is sent. */
  readonly onDoubt?: (doubt: string) => void;
  /** Stops the run; what readers find then is the publication before, or this one where the timestamp was on its way. */
  readonly signal?: AbortSignal;
  /** Seconds since 1970; the clock if left out. */
  readonly now?: number;
}

export interface PublishSummary {
  /** Where the site is now. */
  readonly target: string;
  readonly publication: number;
  /** Whether readers refuse it. */
  readonly withdrawn: boolean;
  /** When readers have to be told again that this is the current one: seconds since 1970. */
  readonly freshUntil: number;
  readonly sent: { readonly files: number; readonly bytes: number };
  readonly unchanged: number;
  /** Files that no live publication names: removed, and kept for readers who may still ask for them. */
  readonly removed: number;
  readonly waiting: number;
  /** Whether the key server has the keys and knows of the publication; `false`: that is to be done by hand. */
  readonly keyServerTold: boolean;
  /** Why it was not told, where it should have been: it does not answer, and nothing was new to it before this publication was shown. */
  readonly keyServerFailure?: string;
  /** When each role has to be signed again. */
  readonly expires: readonly RoleExpiry[];
  readonly milliseconds: number;
}

/** Seconds after which what an interrupted run left is nobody's any more. */
const LEFTOVER_AGE = 3600;

/** Milliseconds for removing what nobody needs any more: the next run goes on. */
const PRUNING = 1_800_000;

const NOTHING_SENT = { files: 0, bytes: 0, unchanged: 0 };
const NOTHING_PRUNED: Pruned = { removed: 0, waiting: 0 };

/**
 * Publishes what is in `out`. Whatever interrupts it, readers find the publication before, and the next run goes on.
 *
 * @throws PublishError, StorageError, PublicationError
 */
export async function publishSite(given: PublishOptions): Promise<PublishSummary> {
  const started = performance.now();
  const { signal } = given;
  const options = { ...given, ...(given.keyServer && { keyServer: { ...given.keyServer, signal } }) };
  return withLock(options.workspace, async () => {
    const { now = nowInSeconds() } = options;
    const publication = await openOwn(options.out, now);
    const brought = options.target
      ? await bring({ ...options, now }, options.target, publication)
      : await handOverOnly(options, publication);
    await remember(options, publication, brought); // first: it is there, whether the key server takes the news or not
    const expires = await expiriesOf(publication);
    let shown = brought;
    const onPut = async (put: PutTimestamp) => {
      shown = { ...brought, ...put };
      await remember(options, publication, shown);
    };
    const told = await tellPublication(options, brought, { publication, expiries: expires, onPut });
    if (told.keyServerTold) await rememberPublished(options.workspace, (last) => withTold(last, shownBy(shown)));
    const { target } = options;
    const pruned = target ? await tidy({ target, now, ...(signal && { signal }) }, publication, shown) : NOTHING_PRUNED;
    return {
      ...describe(publication, shown),
      target: options.target?.name ?? options.out,
      ...pruned,
      ...told,
      expires,
      milliseconds: Math.round(performance.now() - started),
    };
  });
}

async function remember(
  { workspace, target, keyServer }: PublishOptions,
  publication: OpenedPublication,
  brought: Brought,
): Promise<void> {
  const { timestamp, isShown } = brought;
  const elsewhere = [{ keys: timestamp.signers, versions: joinWithdrawn(publication.state.timestamp, timestamp) }];
  const published = { ...snapshotOf(publication), timestamp: timestamp.version };
  await rememberPublished(workspace, (last) => {
    const known = withNews(last, { elsewhere });
    const after = withPublished(known, target?.name ?? null, published, isShown ? shownBy(brought) : undefined);
    return keyServer ? withTelling(after, published.version) : after;
  });
}

function shownBy({ timestamp: { snapshot, withdrawn } }: Brought): Shown {
  return { publication: snapshot.version, withdrawn };
}

function snapshotOf({ state: { root, timestamp } }: OpenedPublication): PublishedSnapshot {
  const { version, sha256 = '' } = timestamp.snapshot;
  return { version, sha256, root: root.version, timestamp: timestamp.version };
}

function describe({ state }: OpenedPublication, { plan, timestamp }: Brought) {
  const { files, bytes, unchanged } = plan ?? NOTHING_SENT;
  const withdrawn = withdrawsItself(timestamp);
  return {
    publication: state.snapshot.version,
    withdrawn,
    freshUntil: timestamp.expires,
    sent: { files, bytes },
    unchanged,
  };
}

/** Our own publication has to be good in every way. */
async function openOwn(out: string, now: number): Promise<OpenedPublication> {
  const publication = await openOutput(out, { now });
  const [late] = publication.lateness;
  if (late) throw late;
  return publication;
}

type Dated = PublishOptions & { readonly now: number };

/** What readers find now. */
interface Brought extends PutTimestamp {
  /** What was sent there; `undefined` where `out` itself is served. */
  readonly plan?: UploadPlan;
}

/** Keys, objects and contents, pages and copies, metadata, timestamp. */
async function bring(options: Dated, target: Target, publication: OpenedPublication): Promise<Brought> {
  const { out, renewTimestamp, onProgress, signal, replaceNewer = false } = options;
  const timestampOptions = { out, target, publication, replaceNewer, ...(renewTimestamp && { renewTimestamp }) };
  const checkNotStopped = () => {
    if (signal?.aborted) throw stopped();
  };
  const checkNotOvertaken = async () => {
    const there = await checkNotNewer(timestampOptions);
    await checkNumberIsFree(timestampOptions);
    return there;
  };
  const onTheWay = new OnTheWay(publication);
  const bringAll = () =>
    untilStopped(target, signal, async () => {
      const isClockRight = await checkSignedByNow(publication, options);
      const there = await checkNotOvertaken();
      await checkNotWithdrawn(options.workspace, target, publication);
      await doubtNumber(options, publication);
      const doubt = isClockRight || !there ? undefined : doubtOf(options.now, there.timestamp, target);
      if (doubt) options.onDoubt?.(doubt);
      const inventory = await Inventory.of(target, { checkNotStopped });
      const context: UploadOptions = {
        ...{ out, target, publication, inventory, checkNotStopped, checkNotOvertaken },
        onRoot: (path) => onTheWay.rootIs(path),
        ...(onProgress && { onProgress }),
      };
      return send(options, context);
    });
  try {
    const plan = await bringAll();
    const put = async () => {
      onTheWay.timestampIs();
      await rememberPublished(options.workspace, (last) => withBegun(last, target.name, snapshotOf(publication)));
      return putTimestamp(timestampOptions);
    };
    return { ...(await untilStopped(target, signal, put, stoppedAtTimestamp)), plan };
  } catch (error) {
    throw await onTheWay.explain(error);
  }
}

/** Readers take nothing that is lower than what they have seen, wherever that was. */
async function doubtNumber({ workspace, onDoubt }: PublishOptions, { state }: OpenedPublication): Promise<void> {
  const { highest } = await readLastPublished(workspace);
  const { version } = state.snapshot;
  if (version < highest)
    onDoubt?.(
      `publication ${version} is lower than ${highest}, which was made here before: readers who have seen that refuse it; "wispr publish" without --no-protect gives it a higher number`,
    );
}

/** All that comes before the timestamp. */
async function send(options: Dated, context: UploadOptions): Promise<UploadPlan> {
  const { publication, target } = context;
  const plan = await planUpload(context);
  await handOver(options, {
    newSets: async () => newSetsOf(publication, target, plan.sets, await readLastPublished(options.workspace)),
    hasNews: () => hasNews(publication, target, plan.sets),
  });
  await upload(context, plan).catch(async (error: unknown) => {
    if (error instanceof StorageError && error.code === 'target-changed') await context.checkNotOvertaken(); // it says by whom
    throw error;
  });
  context.checkNotStopped();
  return plan;
}

/** Where `out` itself is served, everything is in its place already. */
async function handOverOnly(options: PublishOptions, publication: OpenedPublication): Promise<Brought> {
  await checkSignedByNow(publication, options);
  await checkSaysWithdrawn(options.workspace, publication);
  await doubtNumber(options, publication);
  const nothingNew: News = { newSets: async () => ({ count: 0, isKnown: true }), hasNews: async () => true };
  await untilStopped(undefined, options.signal, () => handOver(options, nothingNew), stoppedBeforeTelling);
  return { ...(await ownTimestamp({ out: options.out, publication })), isShown: true };
}

/** What is new to a key server. */
interface News {
  readonly newSets: () => Promise<NewSets>;
  readonly hasNews: () => Promise<boolean>;
}

/** Nobody shall be sent to a document whose key cannot be had. */
async function handOver({ keyServer, keysAreThere = false, workspace }: PublishOptions, news: News): Promise<void> {
  const bundle = await readIfThere(workspace.bundle);
  if (keyServer && bundle) return handOverKeys(keyServer, bundle, async () => keysAreThere || !(await news.hasNews()));
  if (keysAreThere) return;
  const { count, isKnown } = await news.newSets();
  if (count === 0) return;
  const what = bundle
    ? `run "wispr admin import" with ${workspace.bundle} on the key server`
    : 'run "wispr protect" with the key server\'s public key first';
  throw new PublishError(
    'keys-not-handed-over',
    isKnown
      ? 'there are sets with new keys, and the key server may not have been given them'
      : 'nothing that was published before can be read here or at the target, so it cannot be known whether the key server has the keys of all sets',
    {
      hint: `${what}, then "wispr publish --keys-handed-over"; with "keyServerTokenFile" in wispr.json it is done by itself`,
    },
  );
}

/** What readers find stays what it is, however this ends: so a signal ends it without a word, and so does its time. */
async function tidy(
  { target, signal, now }: Pick<Dated, 'signal' | 'now'> & { readonly target: Target },
  publication: OpenedPublication,
  { plan, isShown }: Brought,
): Promise<Pruned> {
  if (!isShown) throw reverted(target); // what readers are sent to is the publication before: all of that stays
  const ending = AbortSignal.any([AbortSignal.timeout(PRUNING), ...(signal ? [signal] : [])]);
  let pruned = NOTHING_PRUNED;
  try {
    await untilStopped(target, ending, async () => {
      if (plan) pruned = await pruneTarget({ target, publication, named: plan.named, now, signal: ending });
      if (!ending.aborted) await target.removeLeftovers(now - LEFTOVER_AGE);
    });
  } catch (error) {
    if (!ending.aborted) throw error;
  }
  return pruned;
}
