/** `wispr publish`: brings a protected site to where it is served, in the one safe order: docs/spec/publication.md, section 8. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HandOver, RoleExpiry } from '../../core/publication/hand-over.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { rememberPublished } from '../last-published.ts';
import { type OpenedPublication, openPublication } from '../publication/open.ts';
import { type Workspace, withLock } from '../workspace.ts';
import { laterRoots } from './bring-timestamp.ts';
import { expiriesOf } from './expiries.ts';
import { Inventory } from './inventory.ts';
import { handOverKeys, isUnreachable, type KeyServerAccess, tellOfPublication } from './key-server.ts';
import { hasNews, newSetsOf } from './new-sets.ts';
import { checkNotNewer, TIMESTAMP_PATH } from './overtaken.ts';
import { placeAtTarget, placeInDirectory } from './places.ts';
import { type Pruned, pruneTarget } from './prune.ts';
import { putTimestamp, type RenewTimestamp } from './timestamp-step.ts';
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
  /** Stops the run; what readers find then is the publication before. */
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

const NOTHING_SENT = { files: 0, bytes: 0, unchanged: 0 };
const NOTHING_PRUNED: Pruned = { removed: 0, waiting: 0 };

/**
 * Publishes what is in `out`. Whatever interrupts it, readers find the publication before, and the next run goes on.
 *
 * @throws PublishError, StorageError, PublicationError
 */
export async function publishSite(options: PublishOptions): Promise<PublishSummary> {
  const started = performance.now();
  return withLock(options.workspace, async () => {
    const { now = nowInSeconds() } = options;
    const publication = await openOwn(options.out, now);
    const done = options.target
      ? await bring({ ...options, now }, options.target, publication)
      : await handOverOnly(options);
    const timestamp = await readCurrent(options, publication);
    const expires = await expiriesOf(publication);
    const told = await tell(options, publication, expires);
    await rememberPublished(options.workspace, {
      target: options.target?.name ?? null,
      withdrawn: timestamp.withdrawn.filter((one) => one <= publication.state.snapshot.version),
    });
    const pruned =
      options.target && done.plan ? await tidy(options.target, publication, done.plan, now) : NOTHING_PRUNED;
    const { files, bytes, unchanged } = done.plan ?? NOTHING_SENT;
    const { version } = publication.state.snapshot;
    return {
      target: options.target?.name ?? options.out,
      publication: version,
      withdrawn: timestamp.withdrawn.includes(version),
      freshUntil: timestamp.expires,
      sent: { files, bytes },
      unchanged,
      ...pruned,
      ...told,
      expires,
      milliseconds: Math.round(performance.now() - started),
    };
  });
}

/** Our own publication has to be good in every way. */
async function openOwn(out: string, now: number): Promise<OpenedPublication> {
  const publication = await openPublication(placeInDirectory(out), { now });
  const [late] = publication.lateness;
  if (late) throw late;
  return publication;
}

type Dated = PublishOptions & { readonly now: number };

/** Keys, objects and contents, pages and copies, metadata, timestamp. */
async function bring(options: Dated, target: Target, publication: OpenedPublication): Promise<{ plan: UploadPlan }> {
  const { out, renewTimestamp, onProgress, signal, replaceNewer = false } = options;
  const timestampOptions = { out, target, publication, replaceNewer, ...(renewTimestamp && { renewTimestamp }) };
  await checkNotNewer(timestampOptions);
  const checkNotStopped = () => {
    if (signal?.aborted) throw stopped();
  };
  const inventory = await Inventory.of(target);
  const context: UploadOptions = {
    ...{ out, target, publication, inventory, checkNotStopped },
    ...(onProgress && { onProgress }),
  };
  const plan = await planUpload(context);
  await handOver(options, {
    newSets: () => newSetsOf(publication, target, plan.sets),
    hasNews: () => hasNews(publication, target, plan.sets),
  });
  await upload(context, plan);
  checkNotStopped();
  await putTimestamp(timestampOptions);
  return { plan };
}

/** Where `out` itself is served, everything is in its place already. */
async function handOverOnly(options: PublishOptions): Promise<{ plan: undefined }> {
  await handOver(options, { newSets: async () => 0, hasNews: async () => true });
  return { plan: undefined };
}

/** What is new to a key server. */
interface News {
  readonly newSets: () => Promise<number>;
  readonly hasNews: () => Promise<boolean>;
}

/** Nobody shall be sent to a document whose key cannot be had. */
async function handOver({ keyServer, keysAreThere = false, workspace }: PublishOptions, news: News): Promise<void> {
  const bundle = await readIfThere(workspace.bundle);
  if (keyServer && bundle) return handOverKeys(keyServer, bundle, async () => keysAreThere || !(await news.hasNews()));
  if (keysAreThere || (await news.newSets()) === 0) return;
  const what = bundle
    ? `run "wispr admin import" with ${workspace.bundle} on the key server`
    : 'run "wispr protect" with the key server\'s public key first';
  throw new PublishError(
    'keys-not-handed-over',
    'there are sets with new keys, and the key server was not given them',
    {
      hint: `${what}, then "wispr publish --keys-handed-over"; with "keyServerTokenFile" in wispr.json it is done by itself`,
    },
  );
}

/** The publication is shown by now, whether the key server answers or not. */
async function tell(
  options: PublishOptions,
  publication: OpenedPublication,
  expires: readonly RoleExpiry[],
): Promise<Pick<PublishSummary, 'keyServerTold' | 'keyServerFailure'>> {
  if (options.keyServer === undefined) return { keyServerTold: false };
  try {
    await tellOfPublication(options.keyServer, await newsOf(options, publication, expires));
    return { keyServerTold: true };
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    return { keyServerTold: false, keyServerFailure: error.message };
  }
}

async function tidy(
  target: Target,
  publication: OpenedPublication,
  { named }: UploadPlan,
  now: number,
): Promise<Pruned> {
  const pruned = await pruneTarget({ target, publication, named, now });
  await target.removeLeftovers(now - LEFTOVER_AGE);
  return pruned;
}

/** The timestamp that readers find: the key server may have put a newer one there. */
async function readCurrent(
  { out, target }: PublishOptions,
  publication: OpenedPublication,
): Promise<TimestampMetadata> {
  const there = target && (await checkNotNewer({ out, target, publication }));
  return there ?? publication.state.timestamp;
}

async function newsOf(
  { out, target }: PublishOptions,
  publication: OpenedPublication,
  expiries: readonly RoleExpiry[],
): Promise<HandOver> {
  const roots = await laterRoots(out, publication);
  const there = await (target && placeAtTarget(target))?.read(TIMESTAMP_PATH, 16_384);
  return { timestamp: there ?? (await readFile(join(out, TIMESTAMP_PATH))), roots, expiries };
}

function stopped(): PublishError {
  return new PublishError('stopped', 'stopped; readers find the publication before', {
    hint: 'run the same command again: it goes on where this run ended',
  });
}
