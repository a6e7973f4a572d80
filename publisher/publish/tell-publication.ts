/**
 * The last of `wispr publish`: the publication is at the target by now, whether the key server answers or not; and whether the host shows it or not,
 * the key server learns of it.
 */
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { attempt, isRefusal, reworded } from './bring-failures.ts';
import { laterRoots } from './bring-timestamp.ts';
import { fetchTimestamp, isUnreachable, type KeyServerAccess, tellOfPublication } from './key-server.ts';
import { isRollback } from './key-server-says.ts';
import { type CheckedTimestamp, timestampIfGood } from './overtaken.ts';
import type { PublishOptions, PublishSummary } from './publish.ts';
import { isOfFuture, ownTimestamp, type PutTimestamp, putTimestamp } from './timestamp-step.ts';

/** How often the key server may be quicker. */
const ATTEMPTS = 5;

type Told = Pick<PublishSummary, 'keyServerTold' | 'keyServerFailure'>;

export interface Outcome extends Told {
  /** What is shown since, where it had to be signed once more. */
  readonly put?: PutTimestamp;
}

/**
 * Tells the key server. Where it has confirmed the publication before in the meantime, a timestamp is signed that is newer than that, and takes
 * the place of the one that was just put.
 *
 * @throws PublishError `key-server-refused`, which says that the publication is out
 */
export async function tellPublication(
  options: PublishOptions,
  publication: OpenedPublication,
  { bytes }: Pick<PutTimestamp, 'bytes'>,
  expiries: readonly RoleExpiry[],
): Promise<Outcome> {
  const { keyServer, out, target } = options;
  if (keyServer === undefined) return { keyServerTold: false };
  const roots = await laterRoots(out, publication);
  let [timestamp, put]: [Uint8Array, PutTimestamp | undefined] = [bytes, undefined];
  for (let attempts = 1; ; attempts++) {
    const { failure } = await attempt(() => tellOfPublication(keyServer, { timestamp, roots, expiries }), isRefusal);
    const shown = put && { put };
    if (failure === undefined) return { keyServerTold: true, ...shown };
    const { message } = failure;
    if (isUnreachable(failure)) return { keyServerTold: false, keyServerFailure: message, ...shown };
    const theirs =
      attempts < ATTEMPTS && isRollback(failure) ? await confirmedMeanwhile(keyServer, publication) : undefined;
    if (theirs === undefined || options.renewTimestamp === undefined)
      throw reworded(failure, `published, at ${target?.name ?? out}; but ${message}`);
    await options.renewTimestamp(theirs.timestamp);
    put = await putAgain(options, publication);
    timestamp = put.bytes;
  }
}

/** What the key server has signed since: newer than ours, and for nothing later. */
async function confirmedMeanwhile(
  { origin, limits, signal }: KeyServerAccess,
  publication: OpenedPublication,
): Promise<CheckedTimestamp | undefined> {
  const question = { origin, signal, ...(limits && { limits }) };
  const { value } = await attempt(() => fetchTimestamp(question), isUnreachable);
  const theirs = value && timestampIfGood(value, publication);
  if (!theirs || isOfFuture(theirs.timestamp, publication)) return undefined;
  return theirs.timestamp.snapshot.version <= publication.state.snapshot.version ? theirs : undefined;
}

async function putAgain(
  { out, target, replaceNewer = false, renewTimestamp }: PublishOptions,
  publication: OpenedPublication,
): Promise<PutTimestamp> {
  if (target === undefined) return { ...(await ownTimestamp({ out, publication })), isShown: true };
  return putTimestamp({ out, target, publication, replaceNewer, ...(renewTimestamp && { renewTimestamp }) });
}
