/**
 * The last of `wispr publish`: the publication is at the target by now, whether the key server answers or not; and whether the host shows it or not,
 * the key server learns of it.
 */
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { repeatsWithdrawn } from '../timestamp/withdrawn.ts';
import { attempt, isRefusal, reworded } from './bring-failures.ts';
import { laterRoots } from './bring-timestamp.ts';
import { fetchTimestamp, isUnreachable, type KeyServerAccess, tellOfPublication } from './key-server.ts';
import { isRollback } from './key-server-says.ts';
import { type CheckedTimestamp, timestampIfGood } from './overtaken.ts';
import type { PublishOptions, PublishSummary } from './publish.ts';
import { stoppedBeforeTelling, untilStopped } from './stopping.ts';
import { isOfFuture, ownTimestamp, type PutTimestamp, putTimestamp, saysAsMuch } from './timestamp-step.ts';

/** How often the key server may be quicker. */
const ATTEMPTS = 5;

type Told = Pick<PublishSummary, 'keyServerTold' | 'keyServerFailure'>;

export interface Telling {
  readonly publication: OpenedPublication;
  readonly expiries: readonly RoleExpiry[];
  /** Called with what is shown from then on, where it had to be signed once more. */
  readonly onPut: (put: PutTimestamp) => Promise<void>;
}

/**
 * Tells the key server. Where it has confirmed the publication before in the meantime, a timestamp is signed that is newer than that, and takes
 * the place of the one that was just put; where it has confirmed this very one, it knows already.
 *
 * @throws PublishError `key-server-refused`, and what `putTimestamp` throws, with the word that the publication is out; `stopped`
 */
export async function tellPublication(
  options: PublishOptions,
  { bytes }: Pick<PutTimestamp, 'bytes'>,
  telling: Telling,
): Promise<Told> {
  const { keyServer, out, target, signal } = options;
  if (keyServer === undefined) return { keyServerTold: false };
  const roots = await laterRoots(out, telling.publication);
  const work = () => tellNewest(options, keyServer, bytes, { ...telling, roots });
  try {
    return await untilStopped(target, signal, work, stoppedBeforeTelling);
  } catch (error) {
    const isSaid = error instanceof PublishError && error.code === 'stopped';
    if (isSaid || !(error instanceof PublishError || error instanceof StorageError)) throw error;
    throw reworded(error, `published, at ${target?.name ?? out}; but ${error.message}`);
  }
}

async function tellNewest(
  options: PublishOptions,
  keyServer: KeyServerAccess,
  first: Uint8Array,
  { publication, expiries, roots, onPut }: Telling & { readonly roots: readonly Uint8Array[] },
): Promise<Told> {
  let timestamp = first;
  for (let attempts = 1; ; attempts++) {
    const { failure } = await attempt(() => tellOfPublication(keyServer, { timestamp, roots, expiries }), isRefusal);
    if (failure === undefined) return { keyServerTold: true };
    const { message } = failure;
    if (isUnreachable(failure)) return { keyServerTold: false, keyServerFailure: message };
    const theirs = isRollback(failure) ? await confirmedMeanwhile(keyServer, publication) : undefined;
    const own = timestampIfGood(timestamp, publication);
    if (theirs && own && saysTheSame(theirs, own)) return { keyServerTold: true };
    if (theirs === undefined || attempts === ATTEMPTS) throw failure;
    if (options.renewTimestamp === undefined) throw cannotSign(failure, theirs, publication);
    await options.renewTimestamp(theirs.timestamp);
    const put = await putAgain(options, publication);
    await onPut(put);
    timestamp = put.bytes;
  }
}

/** Whether readers learn the same from both, and so from the key server as much as where it was just published, and the other way round. */
function saysTheSame(theirs: CheckedTimestamp, own: CheckedTimestamp): boolean {
  return saysAsMuch(theirs, own) && repeatsWithdrawn(own.timestamp, theirs.timestamp);
}

/** Where nobody has the key to sign what the key server would take. */
function cannotSign(
  failure: PublishError,
  { timestamp }: CheckedTimestamp,
  { state }: OpenedPublication,
): PublishError {
  const { version, sha256 } = timestamp.snapshot;
  const isThis = sha256 === state.timestamp.snapshot.sha256;
  const { message, hint } =
    isThis && withdrawsItself(timestamp)
      ? {
          message: `${failure.message}: it says that publication ${version} is withdrawn`,
          hint: `run "wispr withdraw ${version}", which says so wherever it was published from here; then change what was wrong, and publish that`,
        }
      : {
          message: failure.message,
          hint: 'it has signed since, or somebody else has: run the same command again, without --no-protect, which signs what is newer',
        };
  return new PublishError(failure.code, message, { cause: failure, hint });
}

/** What the key server has signed since, newer than ours: for this very publication, or one before. Another of the same number is somebody else's. */
async function confirmedMeanwhile(
  { origin, limits, signal }: KeyServerAccess,
  publication: OpenedPublication,
): Promise<CheckedTimestamp | undefined> {
  const question = { origin, signal, ...(limits && { limits }) };
  const { value } = await attempt(() => fetchTimestamp(question), isUnreachable);
  const theirs = value && timestampIfGood(value, publication);
  if (!theirs || isOfFuture(theirs.timestamp, publication)) return undefined;
  const { snapshot } = theirs.timestamp;
  const own = publication.state.timestamp.snapshot;
  return snapshot.version < own.version || snapshot.sha256 === own.sha256 ? theirs : undefined;
}

async function putAgain(
  { out, target, replaceNewer = false, renewTimestamp }: PublishOptions,
  publication: OpenedPublication,
): Promise<PutTimestamp> {
  if (target === undefined) return { ...(await ownTimestamp({ out, publication })), isShown: true };
  return putTimestamp({ out, target, publication, replaceNewer, ...(renewTimestamp && { renewTimestamp }) });
}
